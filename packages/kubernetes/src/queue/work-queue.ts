/**
 * Work by key, for instance an object that is to be brought into its wanted state: each key once however often it is added, never
 * twice at the same time, and after a failure later each time. What is added while it is worked on is worked on once more.
 */

import { systemClock } from '@roundhouse/transport';
import type { Clock, Timer } from '@roundhouse/transport';
import { BackOff } from '../watch/back-off.ts';

/** `afterMs`: work on it again after so long, unless it is added before. */
export interface WorkOutcome {
  readonly afterMs?: number | undefined;
}

export interface WorkQueueOptions {
  /** A throw is a failure. The signal ends it when the queue is closed. */
  readonly work: (key: string, signal: AbortSignal) => Promise<WorkOutcome | void>;
  /** Keys that are worked on at the same time. Default: 4. */
  readonly concurrency?: number | undefined;
  /** After the first failure of a key in a row; twice as long after each other one. Default: 1 s. */
  readonly firstBackOffMs?: number | undefined;
  /** Default: 5 minutes. */
  readonly maxBackOffMs?: number | undefined;
  /** Each failure; another attempt follows. */
  readonly onFailure?: ((key: string, error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

export interface WorkQueueSnapshot {
  /** Due, and waiting for others to be done. */
  readonly waiting: number;
  readonly working: number;
  /** Due later. */
  readonly delayed: number;
  /** Keys whose last attempt has failed. */
  readonly failing: number;
}

export class WorkQueue implements AsyncDisposable {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #concurrency: number;
  readonly #end = new AbortController();
  // A key leaves each of these when its work is done well; there are no more than its owner has keys.
  /** In the order in which they are worked on. */
  readonly #due = new Set<string>();
  readonly #working = new Set<string>();
  /** Added while they were worked on. */
  readonly #again = new Set<string>();
  readonly #delayed = new Map<string, Timer>();
  readonly #backOffs = new Map<string, BackOff>();
  #emptied: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#concurrency = options.concurrency ?? 4;
  }

  /** Work on it as soon as there is room, also where it is put off: what it failed for may be different now. */
  add(key: string): void {
    if (this.#end.signal.aborted) {
      return;
    }
    this.#cancelDelay(key);
    if (this.#working.has(key)) {
      this.#again.add(key);
      return;
    }
    this.#due.add(key);
    this.#begin();
  }

  /** Nothing of it is known any more, for instance because its object is gone. What is under way goes on. */
  forget(key: string): void {
    this.#cancelDelay(key);
    this.#due.delete(key);
    this.#again.delete(key);
    this.#backOffs.delete(key);
  }

  inspect(): WorkQueueSnapshot {
    return {
      waiting: this.#due.size,
      working: this.#working.size,
      delayed: this.#delayed.size,
      failing: this.#backOffs.size,
    };
  }

  /** Begins nothing more, and has what is under way end. Resolves when it has. */
  async close(): Promise<void> {
    this.#end.abort();
    for (const key of [...this.#delayed.keys(), ...this.#due]) {
      this.forget(key);
    }
    if (this.#working.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const former = this.#emptied;
      this.#emptied = () => {
        former?.();
        resolve();
      };
      await promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #begin(): void {
    for (const key of this.#due) {
      if (this.#working.size >= this.#concurrency) {
        return;
      }
      this.#due.delete(key);
      this.#working.add(key);
      void this.#work(key);
    }
  }

  /** Never rejects. */
  async #work(key: string): Promise<void> {
    const { work, onFailure } = this.#options;
    let afterMs: number | undefined;
    try {
      afterMs = (await work(key, this.#end.signal))?.afterMs;
      this.#backOffs.delete(key);
    } catch (error) {
      if (!this.#end.signal.aborted) {
        afterMs = this.#backOffOf(key).nextMs();
        onFailure?.(key, error);
      }
    }
    this.#working.delete(key);
    if (this.#end.signal.aborted) {
      if (this.#working.size === 0) {
        this.#emptied?.();
      }
      return;
    }
    if (this.#again.delete(key)) {
      this.#due.add(key);
    } else if (afterMs !== undefined) {
      this.#delay(key, afterMs);
    }
    this.#begin();
  }

  #delay(key: string, ms: number): void {
    const timer = this.#clock.setTimeout(() => {
      this.#delayed.delete(key);
      this.add(key);
    }, ms);
    this.#delayed.set(key, timer);
  }

  #cancelDelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  #backOffOf(key: string): BackOff {
    const { firstBackOffMs = 1_000, maxBackOffMs = 300_000, random } = this.#options;
    const known =
      this.#backOffs.get(key) ?? new BackOff({ firstMs: firstBackOffMs, maxMs: maxBackOffMs, random });
    this.#backOffs.set(key, known);
    return known;
  }
}
