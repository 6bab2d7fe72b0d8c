/** One of something for each cluster that was ever served, up to a bound. */

/** Names beyond this share one: clusters that come and go must not grow the numbers for ever. */
export const maxClusterLabels = 4_096;

/** As many of the clusters as may have numbers of their own. */
export function* limited<T>(clusters: Iterable<T>): Generator<T> {
  let count = 0;
  for (const cluster of clusters) {
    count += 1;
    if (count > maxClusterLabels) {
      return;
    }
    yield cluster;
  }
}

export class ByCluster<T> {
  readonly #make: (label: string) => T;
  /** By label. Bounded by `maxClusterLabels`, and one for what has no cluster, and one for the others. */
  readonly #entries = new Map<string, T>();

  constructor(make: (label: string) => T) {
    this.#make = make;
  }

  /** @param name of a cluster; left out for what did not get as far as to have one */
  of(name = ''): T {
    const present = this.#entries.get(name);
    if (present !== undefined) {
      return present;
    }
    const label = name === '' || this.#entries.size < maxClusterLabels ? name : 'other';
    const entry = this.#entries.get(label) ?? this.#make(label);
    this.#entries.set(label, entry);
    return entry;
  }

  [Symbol.iterator](): IterableIterator<T> {
    return this.#entries.values();
  }
}
