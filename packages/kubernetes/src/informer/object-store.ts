/** The objects that an informer knows, by namespace and name; it knows which of them the list that is under way has named. */

import type { KubeObject, ObjectName } from '../client/kube-object.ts';

interface Entry<Item> {
  object: Item;
  /** The number of the list that was the last to name it. */
  list: number;
}

export class ObjectStore<Item extends KubeObject> {
  /** A namespace leaves with its last object; bounded by the informer's `maxObjects`. Empty: of the whole cluster. */
  readonly #namespaces = new Map<string, Map<string, Entry<Item>>>();
  #size = 0;
  #lists = 0;

  get size(): number {
    return this.#size;
  }

  get(name: ObjectName): Item | undefined {
    return this.#entry(name)?.object;
  }

  *all(namespace?: string): Generator<Item> {
    const chosen = namespace === undefined ? this.#namespaces.values() : [this.#namespaces.get(namespace)];
    for (const entries of chosen) {
      for (const { object } of entries?.values() ?? []) {
        yield object;
      }
    }
  }

  /** Returns what was there before. */
  put(object: Item): Item | undefined {
    const known = this.#entry(object.metadata);
    if (known !== undefined) {
      const previous = known.object;
      known.object = object;
      known.list = this.#lists;
      return previous;
    }
    const { name, namespace = '' } = object.metadata;
    const entries = this.#namespaces.get(namespace) ?? new Map<string, Entry<Item>>();
    this.#namespaces.set(namespace, entries);
    entries.set(name, { object, list: this.#lists });
    this.#size += 1;
    return undefined;
  }

  remove({ name, namespace = '' }: ObjectName): Item | undefined {
    const entries = this.#namespaces.get(namespace);
    const entry = entries?.get(name);
    if (entries === undefined || entry === undefined) {
      return undefined;
    }
    entries.delete(name);
    this.#size -= 1;
    if (entries.size === 0) {
      this.#namespaces.delete(namespace);
    }
    return entry.object;
  }

  beginList(): void {
    this.#lists += 1;
  }

  /** It is still there, whatever it looks like now. */
  keep(name: ObjectName): void {
    const entry = this.#entry(name);
    if (entry !== undefined) {
      entry.list = this.#lists;
    }
  }

  /** Takes out and returns what the list has not named. */
  endList(): readonly Item[] {
    const gone: Item[] = [];
    for (const entries of this.#namespaces.values()) {
      for (const { object, list } of entries.values()) {
        if (list !== this.#lists) {
          gone.push(object);
        }
      }
    }
    for (const { metadata } of gone) {
      this.remove(metadata);
    }
    return gone;
  }

  #entry({ name, namespace = '' }: ObjectName): Entry<Item> | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }
}
