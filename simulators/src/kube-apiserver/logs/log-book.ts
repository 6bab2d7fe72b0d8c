/** The log of one container: the newest lines, each with its number and time. Readers hold a number, so a slow one costs nothing. */

export interface LogLine {
  readonly sequence: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly text: string;
}

export class LogBook {
  readonly #limit: number;
  readonly #listeners = new Set<() => void>();
  #lines: LogLine[] = [];
  #next = 0;
  #closed = false;

  /** `limit`: how many lines are kept. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Nothing more will come: followers end. */
  get closed(): boolean {
    return this.#closed;
  }

  append(text: string, at: number): void {
    if (this.#closed) return;
    this.#lines.push({ sequence: this.#next, at, text });
    this.#next += 1;
    if (this.#lines.length >= 2 * this.#limit) this.#lines = this.#lines.slice(-this.#limit);
    this.#tell();
  }

  /** Lines with this number or a later one. Lines that are no longer kept are skipped. */
  from(sequence: number): readonly LogLine[] {
    const first = this.#lines[0]?.sequence ?? this.#next;
    return this.#lines.slice(Math.max(0, sequence - first));
  }

  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  close(): void {
    this.#closed = true;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
