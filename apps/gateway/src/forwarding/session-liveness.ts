/** Of one side of a session: whether it leaves a ping of the other one unanswered. Whatever it sends is an answer. */

import { PingObserver } from './ping-observer.ts';

export class SessionLiveness {
  readonly #pings: PingObserver;
  readonly #timeoutMs: number;
  readonly #gone: () => void;
  #asked: NodeJS.Timeout | undefined;

  /** @param gone called when no byte came for so long after a ping */
  constructor(protocol: string, timeoutMs: number, gone: () => void) {
    this.#pings = new PingObserver(protocol);
    this.#timeoutMs = timeoutMs;
    this.#gone = gone;
  }

  /** The next piece of what is sent to it. */
  sent(chunk: Buffer): void {
    if (this.#pings.sees(chunk)) {
      this.#asked ??= setTimeout(this.#gone, this.#timeoutMs);
    }
  }

  /** Something came from it, or nothing more is of interest. */
  heard(): void {
    clearTimeout(this.#asked);
    this.#asked = undefined;
  }
}
