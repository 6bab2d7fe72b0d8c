/**
 * A line in which each party waits behind its own: one is served of each of them in turn, however many of one there are. Parties are told
 * apart by `RequestOptions.fairnessKey`; those without one are a party together.
 */

import type { Exchange } from './exchange.ts';

export class FairLine {
  /** The party whose turn it is comes first; within a party first come, first served. A party leaves with its last one. */
  readonly #parties = new Map<string | undefined, Set<Exchange>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(exchange: Exchange): void {
    const key = exchange.options.fairnessKey;
    let party = this.#parties.get(key);
    if (party === undefined) {
      party = new Set();
      this.#parties.set(key, party);
    }
    if (!party.has(exchange)) {
      party.add(exchange);
      this.#size += 1;
    }
  }

  remove(exchange: Exchange): void {
    const key = exchange.options.fairnessKey;
    const party = this.#parties.get(key);
    if (party?.delete(exchange) !== true) {
      return;
    }
    this.#size -= 1;
    if (party.size === 0) {
      this.#parties.delete(key);
    }
  }

  /** Whose turn it is; the next one is of another party where there is one. */
  take(): Exchange | undefined {
    for (const [key, party] of this.#parties) {
      for (const exchange of party) {
        this.remove(exchange);
        if (this.#parties.delete(key)) {
          this.#parties.set(key, party);
        }
        return exchange;
      }
    }
    return undefined;
  }

  /** The newest of the party of which most wait, where those are more than the party of `key` would be with one more. */
  outnumbering(key: string | undefined): Exchange | undefined {
    const own = this.#parties.get(key)?.size ?? 0;
    let largest: Set<Exchange> | undefined;
    for (const party of this.#parties.values()) {
      if (party.size > (largest?.size ?? own + 1)) {
        largest = party;
      }
    }
    let newest: Exchange | undefined;
    for (const exchange of largest ?? []) {
      newest = exchange;
    }
    return newest;
  }

  /** In the order in which they would be served if nobody else came. */
  *[Symbol.iterator](): Generator<Exchange, void, undefined> {
    let parties = Array.from(this.#parties.values(), (party) => party.values());
    while (parties.length > 0) {
      const left: typeof parties = [];
      for (const party of parties) {
        const { done, value } = party.next();
        if (done !== true) {
          left.push(party);
          yield value;
        }
      }
      parties = left;
    }
  }
}
