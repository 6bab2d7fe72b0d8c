/** How many plugins may run at a time: credentials of a thousand clusters that end together must not be a thousand processes. */

export class RunSlots {
  readonly #max: number;
  #taken = 0;
  /** First come, first served. Bounded by the sources, each of which wants one at most. */
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  get running(): number {
    return this.#taken;
  }

  /**
   * Resolves when there is room; what it gives makes room again.
   *
   * @throws the reason of the signal
   */
  async take(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#taken >= this.#max) {
      await this.#turn(signal);
    } else {
      this.#taken += 1;
    }
    return { [Symbol.dispose]: () => this.#leave() };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => {
      this.#waiting.delete(resolve);
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    this.#waiting.add(resolve);
    signal.addEventListener('abort', giveUp);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  /** Whoever waits longest takes the place over. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
