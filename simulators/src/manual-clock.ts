/** Time that a test moves by hand. It fits the clock of whatever takes one as a parameter; nothing here sleeps. */

interface Entry {
  readonly at: number;
  readonly callback: () => void;
}

export class ManualClock {
  #now: number;
  /** In the order in which they were set. An entry leaves when it runs or is cancelled. */
  readonly #timers = new Set<Entry>();

  /** @param now milliseconds since the epoch at which it stands first */
  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimeout(callback: () => void, ms: number): { cancel(): void } {
    const entry: Entry = { at: this.#now + Math.max(0, ms), callback };
    this.#timers.add(entry);
    return { cancel: () => void this.#timers.delete(entry) };
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves on and runs what is due on the way, each at its own time; what that sets runs too, if it is due. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = until;
  }

  /** Moves on as for a process that stood still meanwhile: nothing ran on the way, and what is due runs now, late. */
  jump(ms: number): void {
    this.#now += ms;
    this.advance(0);
  }

  #next(until: number): Entry | undefined {
    let first: Entry | undefined;
    for (const entry of this.#timers) {
      if (entry.at <= until && (first === undefined || entry.at < first.at)) {
        first = entry;
      }
    }
    return first;
  }
}
