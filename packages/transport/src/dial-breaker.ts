/**
 * Whether an endpoint that could not be reached is dialed again yet (docs/adr/0010-breaker.md). It knows of dials and nothing else:
 * what a server answers, however bad, is an answer.
 */

import type { Clock } from './clock.ts';
import { TransportError } from './errors.ts';
import type { Limits } from './limits.ts';

/** - `closed`: dials may begin. - `open`: none may, for a while. - `probing`: one is under way, which decides. */
export type BreakerState = 'closed' | 'open' | 'probing';

/** Whoever counts for many endpoints. */
export interface BreakerOwner {
  /** From 0 to 1; spreads the rests of many. */
  random(): number;
  /** It was closed, and is open now. */
  breakerOpened(): void;
  refusedWhileDown(): void;
}

/** One dial, as the breaker knows it. Must be given back to exactly one of `succeeded`, `failed` and `cancelled`. */
export interface DialAttempt {
  /** Its place in the order of beginnings and failures. */
  readonly began: number;
  readonly probe: boolean;
}

export class DialBreaker {
  readonly #origin: string;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #owner: BreakerOwner;
  #serial = 0;
  /** Consecutive ones that counted. */
  #failures = 0;
  #failedAt = 0;
  #lastFailure: TransportError | undefined;
  /** Undefined: closed. */
  #restsUntil: number | undefined;
  #rests = 0;
  #probing = false;

  /** @param origin for messages */
  constructor(origin: string, limits: Limits, clock: Clock, owner: BreakerOwner) {
    this.#origin = origin;
    this.#limits = limits;
    this.#clock = clock;
    this.#owner = owner;
  }

  get state(): BreakerState {
    if (this.#restsUntil === undefined) {
      return 'closed';
    }
    return this.#probing ? 'probing' : 'open';
  }

  /** Until a dial may begin; 0: now. While one is under way that decides, the shortest rest. */
  get restMs(): number {
    if (this.#restsUntil === undefined) {
      return 0;
    }
    return this.#probing ? this.#limits.breakerRestMs : Math.max(0, this.#restsUntil - this.#clock.now());
  }

  get mayBegin(): boolean {
    return this.restMs === 0;
  }

  /** What whoever wanted a dial is told, when none may begin. */
  refuse(): TransportError {
    const { restMs } = this;
    this.#owner.refusedWhileDown();
    const reason = this.#lastFailure?.message ?? 'unknown';
    return new TransportError(
      'ERR_RH_ENDPOINT_DOWN',
      `${this.#origin} is not dialed for another ${restMs} ms, since the last ${this.#failures} attempts failed, the last one with ${reason}`,
      { cause: this.#lastFailure, data: { retryAfterMs: restMs } },
    );
  }

  /** Only when one may. */
  begin(): DialAttempt {
    const probe = this.#restsUntil !== undefined;
    this.#probing = probe;
    this.#serial += 1;
    return { began: this.#serial, probe };
  }

  succeeded(): void {
    this.#failures = 0;
    this.#rests = 0;
    this.#restsUntil = undefined;
    this.#probing = false;
    this.#lastFailure = undefined;
  }

  failed({ began, probe }: DialAttempt, error: TransportError): void {
    this.#probing &&= !probe;
    // Fifty that were under way together met one and the same outage.
    if (began <= this.#failedAt) {
      return;
    }
    this.#serial += 1;
    this.#failedAt = this.#serial;
    this.#failures += 1;
    this.#lastFailure = error;
    const { breakerThreshold } = this.#limits;
    if (breakerThreshold > 0 && this.#failures >= breakerThreshold) {
      this.#rest();
    }
  }

  /** It says nothing about the endpoint. */
  cancelled({ probe }: DialAttempt): void {
    this.#probing &&= !probe;
  }

  #rest(): void {
    const { breakerRestMs, breakerMaxRestMs } = this.#limits;
    const opened = this.#restsUntil === undefined;
    const restMs = Math.min(breakerMaxRestMs, breakerRestMs * 2 ** Math.min(this.#rests, 30));
    this.#rests += 1;
    this.#restsUntil = this.#clock.now() + Math.ceil(restMs * (0.75 + 0.25 * this.#owner.random()));
    if (opened) {
      this.#owner.breakerOpened();
    }
  }
}
