/**
 * The idle connections of a whole pool, the longest idle first. It bounds their number and their time with one timer;
 * which of them a request gets is each transport's own matter.
 */

import type { Clock, Timer } from './clock.ts';
import type { Connection } from './connection.ts';

export class IdleConnections {
  readonly #clock: Clock;
  readonly #maxIdle: number;
  readonly #idleTimeoutMs: number;
  /** Connection to the time at which it became idle; insertion order is age, since each entry has the same timeout. */
  readonly #since = new Map<Connection, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock, limits: { maxIdle: number; idleTimeoutMs: number }) {
    this.#clock = clock;
    this.#maxIdle = limits.maxIdle;
    this.#idleTimeoutMs = limits.idleTimeoutMs;
  }

  get size(): number {
    return this.#since.size;
  }

  add(connection: Connection): void {
    this.#since.delete(connection);
    this.#since.set(connection, this.#clock.now());
    while (this.#since.size > this.#maxIdle) {
      this.#retireEldest();
    }
    this.#timer ??= this.#clock.setTimeout(() => this.#sweep(), this.#idleTimeoutMs);
  }

  remove(connection: Connection): void {
    this.#since.delete(connection);
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#since.clear();
  }

  #retireEldest(): void {
    const eldest = this.#since.keys().next().value;
    if (eldest !== undefined) {
      this.#since.delete(eldest);
      eldest.retire();
    }
  }

  #sweep(): void {
    this.#timer = undefined;
    for (const [connection, since] of this.#since) {
      const remainingMs = since + this.#idleTimeoutMs - this.#clock.now();
      if (remainingMs > 0) {
        this.#timer = this.#clock.setTimeout(() => this.#sweep(), remainingMs);
        return;
      }
      this.#since.delete(connection);
      connection.retire();
    }
  }
}
