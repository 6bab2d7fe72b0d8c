/** Exchanges that wait for a connection, those of each kind in a fair line, and how long they may. */

import { queueTimeout } from './admission.ts';
import type { Clock } from './clock.ts';
import type { Exchange } from './exchange.ts';
import { FairLine } from './fair-line.ts';
import type { Limits } from './limits.ts';
import type { RequestKind } from './request.ts';

/** Entries leave when they are taken, and when their exchange settles. */
interface Line {
  /** Those that only a connection without history can serve; a new one is theirs first, since no other helps them. */
  readonly fresh: FairLine;
  readonly any: FairLine;
}

/** Bounded by the transport's `maxWaitingPerHost` and `maxStreamsPerHost`. */
export class WaitingList {
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #origin: string;
  readonly #dialing: (kind: RequestKind) => number;
  readonly #lines: Readonly<Record<RequestKind, Line>> = {
    unary: { fresh: new FairLine(), any: new FairLine() },
    stream: { fresh: new FairLine(), any: new FairLine() },
  };

  /**
   * @param origin for messages
   * @param dialing how many dials are under way for this kind
   */
  constructor(limits: Limits, clock: Clock, origin: string, dialing: (kind: RequestKind) => number) {
    this.#limits = limits;
    this.#clock = clock;
    this.#origin = origin;
    this.#dialing = dialing;
  }

  get size(): number {
    return this.sizeOf('unary') + this.sizeOf('stream');
  }

  sizeOf(kind: RequestKind): number {
    return this.#lines[kind].fresh.size + this.#lines[kind].any.size;
  }

  /** Whether one waits that no present connection can serve. */
  get needsFreshConnection(): boolean {
    return this.#lines.unary.fresh.size + this.#lines.stream.fresh.size > 0;
  }

  add(exchange: Exchange): void {
    const line = this.#lines[exchange.kind];
    (exchange.needsFreshConnection ? line.fresh : line.any).add(exchange);
    this.#boundWait(exchange, this.#limits.maxWaitMs);
  }

  remove(exchange: Exchange): void {
    const line = this.#lines[exchange.kind];
    line.fresh.remove(exchange);
    line.any.remove(exchange);
  }

  /** The one of this kind whose turn it is and that a connection can serve; `kept`: it is not a new one. */
  take(kind: RequestKind, kept: boolean): Exchange | undefined {
    const { fresh, any } = this.#lines[kind];
    return (kept ? undefined : fresh.take()) ?? any.take();
  }

  /** Who gives way to a newcomer when no more may wait; undefined when there is nobody. */
  outnumbering({ kind, options }: Exchange): Exchange | undefined {
    return this.#lines[kind].any.outnumbering(options.fairnessKey);
  }

  /** Those of this kind that are not among the first `count`. */
  takeBeyond(kind: RequestKind, count: number): Exchange[] {
    const { fresh, any } = this.#lines[kind];
    const beyond = [...fresh, ...any].slice(count);
    for (const exchange of beyond) {
      this.remove(exchange);
    }
    return beyond;
  }

  takeAll(): Exchange[] {
    const all: Exchange[] = [];
    for (const { fresh, any } of [this.#lines.unary, this.#lines.stream]) {
      all.push(...fresh, ...any);
    }
    for (const exchange of all) {
      this.remove(exchange);
    }
    return all;
  }

  #boundWait(exchange: Exchange, ms: number): void {
    exchange.waitTimer?.cancel();
    exchange.waitTimer = this.#clock.setTimeout(() => {
      // A dial is under way for it: that has a bound of its own, and an error that says more.
      if (this.#isAmongFirst(exchange, this.#dialing(exchange.kind))) {
        this.#boundWait(exchange, this.#limits.dialTimeoutMs);
        return;
      }
      exchange.fail(queueTimeout(this.#origin, ms));
    }, ms);
  }

  /** Whether as few as `count` of its kind would be served before it. */
  #isAmongFirst(exchange: Exchange, count: number): boolean {
    const { fresh, any } = this.#lines[exchange.kind];
    let position = 0;
    for (const line of [fresh, any]) {
      for (const other of line) {
        if (position >= count) {
          return false;
        }
        if (other === exchange) {
          return true;
        }
        position += 1;
      }
    }
    return false;
  }
}
