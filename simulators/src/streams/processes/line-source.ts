/** Reads lines and leaves what follows to others, as a shell does that shares its input with what it runs. */

import type { ByteSource } from '../byte-pipe.ts';

/** Of one line. */
const maxLineBytes = 65_536;

export interface Loan extends ByteSource, Disposable {}

export class LineSource implements ByteSource {
  readonly #source: ByteSource;
  #rest: Buffer = Buffer.alloc(0);
  /** A read that is under way; it belongs to whoever is there when it is done. */
  #pending: Promise<Buffer | undefined> | undefined;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Without its newline; undefined at the end. */
  async readLine(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf(10);
      if (end >= 0 || this.#rest.length > maxLineBytes) {
        const line = this.#rest.toString('utf8', 0, end < 0 ? this.#rest.length : end);
        this.#rest = end < 0 ? Buffer.alloc(0) : this.#rest.subarray(end + 1);
        return line;
      }
      const chunk = await this.#take();
      if (chunk === undefined) {
        const last = this.#rest.toString();
        this.#rest = Buffer.alloc(0);
        return last === '' ? undefined : last;
      }
      this.#rest = Buffer.concat([this.#rest, chunk]);
    }
  }

  async read(): Promise<Buffer | undefined> {
    if (this.#rest.length === 0) return this.#take();
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    return rest;
  }

  /** For a process that may be killed: once the loan is over, what it has waited for is left to others. */
  lend(): Loan {
    let over = false;
    return {
      read: async () => {
        if (!over && this.#rest.length === 0) await this.#look();
        return over ? undefined : this.read();
      },
      [Symbol.dispose]: () => {
        over = true;
      },
    };
  }

  async #look(): Promise<Buffer | undefined> {
    this.#pending ??= this.#source.read();
    return this.#pending;
  }

  async #take(): Promise<Buffer | undefined> {
    const chunk = await this.#look();
    this.#pending = undefined;
    return chunk;
  }
}
