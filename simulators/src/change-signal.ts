/**
 * Lets a test wait for what a peer has seen instead of looking again and again: the peer says that something changed, and every
 * condition somebody waits for is looked at once. The one timer of a wait is its limit.
 */

export interface WaitOptions {
  /** Default: 5 s. */
  readonly timeoutMs?: number;
}

interface Waiter {
  check(): void;
  fail(reason: Error): void;
}

export class ChangeSignal {
  /** Bounded by the tests that wait; each wait takes itself out when it settles. */
  readonly #waiters = new Set<Waiter>();

  notify(): void {
    for (const waiter of this.#waiters) waiter.check();
  }

  /** Ends every wait: what is waited for cannot happen any more. */
  fail(reason: Error): void {
    for (const waiter of this.#waiters) waiter.fail(reason);
  }

  /** Resolves as soon as the condition holds; rejects at the limit with what `describe` says then. */
  async until(holds: () => boolean, describe: () => string, options: WaitOptions = {}): Promise<void> {
    const { timeoutMs = 5000 } = options;
    if (holds()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = {
      check() {
        try {
          if (holds()) resolve();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      },
      fail: reject,
    };
    this.#waiters.add(waiter);
    const limit = setTimeout(() => reject(new Error(`Not within ${timeoutMs} ms: ${describe()}`)), timeoutMs);
    try {
      await promise;
    } finally {
      clearTimeout(limit);
      this.#waiters.delete(waiter);
    }
  }
}
