/** Bytes into lines, as a watch sends them: one JSON text a line. What is not a whole line yet is kept, up to a bound. */

import { ShapeError } from '../client/kube-object.ts';

const newline = 0x0a;

export class LineReader {
  readonly #maxLineBytes: number;
  /** Of the line that has no end yet, in order. */
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /**
   * The lines that are whole with this chunk, without their ends; blank ones are left out.
   *
   * @throws ShapeError for a line that is larger than the bound, as soon as that is known
   */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      const line = this.#take();
      if (line !== '') {
        yield line;
      }
    }
    this.#keep(chunk.subarray(start));
  }

  /** What came behind the last end of a line; empty when nothing did. */
  rest(): string {
    return this.#take();
  }

  #keep(part: Buffer): void {
    if (part.length === 0) {
      return;
    }
    this.#bytes += part.length;
    if (this.#bytes > this.#maxLineBytes) {
      throw new ShapeError(`a line is larger than ${this.#maxLineBytes} bytes`);
    }
    this.#parts.push(part);
  }

  #take(): string {
    const [only] = this.#parts;
    const line = this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    // Decoded as a whole: a character may lie across two chunks.
    return line.toString().trim();
  }
}
