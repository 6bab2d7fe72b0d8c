/**
 * Whether the other side of an HTTP/2 connection still lives. A network that is lost says nothing, and TCP notices it after a
 * quarter of an hour; so after a silence the peer is asked (PING; RFC 9113, section 6.7, wants it answered before all else), and
 * any frame of it is an answer. It owns one timer, while something rides on the connection.
 */

import type { Clock, Timer } from './clock.ts';
import type { Limits } from './limits.ts';

/** The connection, as this sees it. */
export interface LivenessPorts {
  /** Asks the peer for a sign of life. */
  ping(answered: () => void): void;
  /** There was none. */
  lost(): void;
}

export class Http2Liveness {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #answerMs: number;
  readonly #ports: LivenessPorts;
  #heardAt: number;
  #timer: Timer | undefined;

  constructor(clock: Clock, { pingAfterMs, pingTimeoutMs }: Limits, ports: LivenessPorts) {
    this.#clock = clock;
    this.#silenceMs = pingAfterMs;
    this.#answerMs = pingTimeoutMs;
    this.#ports = ports;
    this.#heardAt = clock.now();
  }

  /** Something has come from the peer. */
  heard(): void {
    this.#heardAt = this.#clock.now();
  }

  /** Something rides on the connection, or is about to. Idempotent. */
  watch(): void {
    if (this.#timer === undefined && this.#silenceMs > 0) {
      this.#look();
    }
  }

  /** Nothing rides on it. Idempotent. */
  rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #look(): void {
    const askAt = this.#heardAt + this.#silenceMs;
    const now = this.#clock.now();
    if (now < askAt) {
      this.#timer = this.#clock.setTimeout(() => this.#look(), askAt - now);
      return;
    }
    const timer = this.#clock.setTimeout(() => this.#judge(now), this.#answerMs);
    this.#timer = timer;
    this.#ports.ping(() => {
      this.heard();
      if (this.#timer === timer) {
        timer.cancel();
        this.#look();
      }
    });
  }

  #judge(askedAt: number): void {
    // Whoever stood still himself has not read the answer either.
    const late = this.#clock.now() - askedAt >= 2 * this.#answerMs;
    if (late || this.#heardAt >= askedAt) {
      this.#look();
    } else {
      this.#timer = undefined;
      this.#ports.lost();
    }
  }
}
