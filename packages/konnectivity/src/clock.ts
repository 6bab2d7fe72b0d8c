/** Time as this package sees it: a parameter, so that tests move it by hand instead of sleeping. */

export interface Timer {
  /** Idempotent; after it the callback does not run. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `callback` once after `ms`. Never keeps the process alive by itself. */
  setTimeout(callback: () => void, ms: number): Timer;
}

/** What Node.js can count to; it takes a longer time for one millisecond. About 25 days. */
const longestMs = 2 ** 31 - 1;

class SystemTimer implements Timer {
  readonly #timeout: NodeJS.Timeout;

  constructor(callback: () => void, ms: number) {
    this.#timeout = setTimeout(callback, Math.min(ms, longestMs));
    this.#timeout.unref();
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, ms) => new SystemTimer(callback, ms),
};
