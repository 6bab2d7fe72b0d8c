/**
 * What was under way when its identity moved on: it ends by itself, or is cut. The cuts are spread over the last part of the limit,
 * so that what comes back at once does not all come back at once. It leaves nothing behind when it is over.
 */

import type { Clock, Timer } from './clock.ts';
import { TransportError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Transport } from './transport.ts';
import type { Upgrade } from './upgrade.ts';

export interface DrainOptions {
  /** For messages. */
  readonly name: string;
  /** The one that is left. */
  readonly generation: number;
  /** That of the generation; undefined when it was never built. */
  readonly transport: Transport | undefined;
  /** After this time nothing is left. */
  readonly timeoutMs: number;
  /** The last part of it, over which the cuts are spread; at most a quarter counts. */
  readonly spreadMs: number;
  readonly clock: Clock;
  /** From 0 to 1; where in a slice of time its cut comes, so that many identities are not cut in step. */
  readonly random: () => number;
  readonly onOver: (drain: Drain) => void;
}

/** Cuts come no closer together than this: ten thousand timers would be a burst of their own. */
const leastGapMs = 50;

export class Drain {
  readonly generation: number;
  readonly transport: Transport | undefined;
  readonly #options: DrainOptions;
  readonly #running: Set<Exchange | Upgrade>;
  readonly #startedAt: number;
  readonly #spreadMs: number;
  readonly #slices: number;
  readonly #shift: number;
  #slice = 0;
  #timer: Timer | undefined;

  /** @param running at least one */
  constructor(running: Iterable<Exchange | Upgrade>, options: DrainOptions) {
    this.generation = options.generation;
    this.transport = options.transport;
    this.#options = options;
    this.#running = new Set(running);
    this.#startedAt = options.clock.now();
    this.#spreadMs = Math.min(options.spreadMs, options.timeoutMs / 4);
    this.#slices = Math.max(1, Math.min(this.#running.size, Math.floor(this.#spreadMs / leastGapMs)));
    this.#shift = options.random();
    this.#wait();
  }

  has(running: Exchange | Upgrade): boolean {
    return this.#running.has(running);
  }

  /** It has ended, in whatever way. */
  ended(running: Exchange | Upgrade): void {
    if (this.#running.delete(running) && this.#running.size === 0) {
      this.#timer?.cancel();
      this.#options.onOver(this);
    }
  }

  #wait(): void {
    const { clock, timeoutMs } = this.#options;
    const sliceMs = this.#spreadMs / this.#slices;
    const dueAt = this.#startedAt + timeoutMs - this.#spreadMs + sliceMs * (this.#slice + this.#shift);
    this.#timer = clock.setTimeout(() => this.#cutSlice(), Math.max(0, Math.round(dueAt - clock.now())));
  }

  #cutSlice(): void {
    this.#cut(Math.ceil(this.#running.size / (this.#slices - this.#slice)));
    this.#slice += 1;
    if (this.#running.size > 0) {
      this.#wait();
    }
  }

  #cut(count: number): void {
    const { name, clock } = this.#options;
    const error = new TransportError(
      'ERR_RH_DRAINED',
      `${name} was rotated ${clock.now() - this.#startedAt} ms ago`,
    );
    for (const running of [...this.#running].slice(0, count)) {
      running.fail(error);
      // Its owner tells of its end, unless it was over already.
      this.ended(running);
    }
  }
}
