/**
 * Objects by collection under one counter of revisions: what etcd and the watch cache are to the real server. Knows nothing of
 * kinds. Objects in here are frozen; whoever changes one puts a new one.
 */
import { freezeJson } from '../json.ts';
import { withMeta } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { History } from './history.ts';
import type { Change } from './history.ts';

export interface Snapshot {
  readonly revision: number;
  /** In the order of keys, which is namespace, then name. */
  readonly entries: readonly (readonly [key: string, object: KubeObject])[];
}

export class VersionedStore {
  readonly #historyLimit: number;
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<() => void>();
  #revision = 1;

  /** `historyLimit`: changes kept per collection, at least. */
  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Made when first asked for; there is one per resource that is served, and it stays. */
  collection(name: string): Collection {
    let found = this.#collections.get(name);
    if (found === undefined) {
      found = new Collection(this, new History(this.#historyLimit, this.#revision));
      this.#collections.set(name, found);
    }
    return found;
  }

  /** Forgets all history up to now: every older resourceVersion and continue token is expired. */
  compact(): void {
    for (const collection of this.#collections.values()) collection.history.compact(this.#revision);
  }

  /** All changes after `revision`, of each collection in order. Undefined when they are no longer all known. */
  changesAfter(revision: number): readonly Change[] | undefined {
    const changes: Change[] = [];
    for (const { history } of this.#collections.values()) {
      const own = history.after(Math.max(revision, history.firstRevision));
      if (own === undefined) return undefined;
      changes.push(...own);
    }
    return changes;
  }

  /** Called after every change of any collection; returns what takes the listener out. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** For collections only. */
  advance(): number {
    this.#revision += 1;
    return this.#revision;
  }

  /** For collections only. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

export class Collection {
  readonly #store: VersionedStore;
  readonly #objects = new Map<string, KubeObject>();
  readonly #listeners = new Set<() => void>();
  /** One text per object for all the watches that send it; an entry goes with its object. */
  readonly #texts = new WeakMap<KubeObject, string>();
  readonly history: History;
  /** Rebuilt when a key came or went. */
  #sortedKeys: readonly string[] | undefined;

  constructor(store: VersionedStore, history: History) {
    this.#store = store;
    this.history = history;
  }

  get size(): number {
    return this.#objects.size;
  }

  get revision(): number {
    return this.#store.revision;
  }

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key);
  }

  /** In no order; a copy, so that it can be walked while objects come and go. */
  all(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  /** The object as JSON, which is made once. For objects of this collection: they do not change. */
  textOf(object: KubeObject): string {
    let text = this.#texts.get(object);
    if (text === undefined) {
      text = JSON.stringify(object);
      this.#texts.set(object, text);
    }
    return text;
  }

  /** Stores the object under a new revision and returns it as stored. */
  put(key: string, object: KubeObject): KubeObject {
    const revision = this.#store.advance();
    const previous = this.#objects.get(key);
    const stored = freezeJson(withMeta(object, { resourceVersion: String(revision) }));
    this.#objects.set(key, stored);
    if (previous === undefined) this.#sortedKeys = undefined;
    this.#announce({ revision, key, object: stored, previous, deleted: false });
    return stored;
  }

  /** Returns the last state with the revision of the deletion; undefined when there was none. */
  remove(key: string): KubeObject | undefined {
    const previous = this.#objects.get(key);
    if (previous === undefined) return undefined;
    const revision = this.#store.advance();
    const last = freezeJson(withMeta(previous, { resourceVersion: String(revision) }));
    this.#objects.delete(key);
    this.#sortedKeys = undefined;
    this.#announce({ revision, key, object: last, previous, deleted: true });
    return last;
  }

  /** All objects as they were at `revision` (default: now). Undefined when that is compacted. */
  snapshot(revision = this.#store.revision): Snapshot | undefined {
    if (revision === this.#store.revision) return { revision, entries: this.#entries() };
    const since = this.history.after(revision);
    if (since === undefined) return undefined;
    if (since.length === 0) return { revision, entries: this.#entries() };
    const past = new Map(this.#objects);
    for (const change of since.toReversed()) {
      if (change.previous === undefined) past.delete(change.key);
      else past.set(change.key, change.previous);
    }
    return { revision, entries: [...past].toSorted(([left], [right]) => compareKeys(left, right)) };
  }

  /** Called after each change of this collection. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  #entries(): Snapshot['entries'] {
    this.#sortedKeys ??= [...this.#objects.keys()].toSorted(compareKeys);
    return this.#sortedKeys.flatMap((key) => {
      const object = this.#objects.get(key);
      return object === undefined ? [] : [[key, object] as const];
    });
  }

  #announce(change: Parameters<History['append']>[0]): void {
    this.history.append(change);
    for (const listener of this.#listeners) listener();
    this.#store.changed();
  }
}

/** By code unit, as etcd orders bytes; a locale would not. */
function compareKeys(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
