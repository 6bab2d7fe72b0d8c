/** Reads lines and leaves what follows to others, as a shell does that shares its input with what it runs. */

import type { ByteSource } from '../byte-pipe.ts';

/** Of one line. */
const maxLineBytes = 65_536;

export class LineSource implements ByteSource {
  readonly #source: ByteSource;
  #rest: Buffer = Buffer.alloc(0);

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
      const chunk = await this.#source.read();
      if (chunk === undefined) {
        const last = this.#rest.toString();
        this.#rest = Buffer.alloc(0);
        return last === '' ? undefined : last;
      }
      this.#rest = Buffer.concat([this.#rest, chunk]);
    }
  }

  async read(): Promise<Buffer | undefined> {
    if (this.#rest.length === 0) return this.#source.read();
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    return rest;
  }
}
