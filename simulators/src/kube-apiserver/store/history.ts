/**
 * The window of past changes of one collection. Watches read from it with a cursor, so a stalled watch costs a number and not a
 * queue; when the window has moved past its cursor it is told that its resourceVersion is expired.
 */
import type { KubeObject } from '../kube-object.ts';

export interface Change {
  readonly revision: number;
  readonly key: string;
  /** For a deletion, the last state with the revision of the deletion. */
  readonly object: KubeObject;
  /** Undefined for a creation. */
  readonly previous: KubeObject | undefined;
  readonly deleted: boolean;
}

export class History {
  readonly #limit: number;
  /** There were no changes before. */
  readonly firstRevision: number;
  #changes: Change[] = [];
  #compactedRevision: number;

  /** `limit`: how many changes are kept. `revision`: nothing that happened up to here is known. */
  constructor(limit: number, revision: number) {
    this.#limit = limit;
    this.firstRevision = revision;
    this.#compactedRevision = revision;
  }

  /** The oldest revision to read from: changes after it are all here. */
  get compactedRevision(): number {
    return this.#compactedRevision;
  }

  append(change: Change): void {
    this.#changes.push(change);
    // Trimmed in batches, so that a full window does not cost a shift per change.
    if (this.#changes.length >= 2 * this.#limit) this.#dropFirst(this.#changes.length - this.#limit);
  }

  /** Forgets everything up to `revision`, as compaction of etcd does. */
  compact(revision: number): void {
    this.#dropFirst(this.#indexAfter(revision));
    this.#compactedRevision = Math.max(this.#compactedRevision, revision);
  }

  /** Undefined when changes after `revision` are no longer all here. */
  after(revision: number): readonly Change[] | undefined {
    if (revision < this.#compactedRevision) return undefined;
    return this.#changes.slice(this.#indexAfter(revision));
  }

  /** The first change after `revision`, 'expired', or undefined when there is none yet. */
  next(revision: number): Change | 'expired' | undefined {
    if (revision < this.#compactedRevision) return 'expired';
    return this.#changes[this.#indexAfter(revision)];
  }

  #dropFirst(count: number): void {
    const last = this.#changes[count - 1];
    if (last === undefined) return;
    this.#compactedRevision = last.revision;
    this.#changes = this.#changes.slice(count);
  }

  #indexAfter(revision: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const change = this.#changes[middle];
      if (change !== undefined && change.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
