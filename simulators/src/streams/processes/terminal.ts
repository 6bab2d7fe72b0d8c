/**
 * A terminal's line discipline, between a client's keys and a process: what is typed comes back, a line is given when it is finished,
 * and each new line of output begins at its left end. Size changes are read from the client's resize stream.
 */

import { BytePipe, type ByteSink, type ByteSource } from '../byte-pipe.ts';
import type { ProcessTerminal, TerminalSize } from './program.ts';

const key = { interrupt: 3, endOfInput: 4, backspace: 8, newline: 10, enter: 13, delete: 127 } as const;
/** Of one line. */
const maxLineBytes = 4096;

export class Terminal implements ProcessTerminal {
  /** What the process reads. */
  readonly input = new BytePipe();
  /** What the process writes to. */
  readonly output: ByteSink;
  readonly #screen: ByteSink;
  /** The last one is told of ctrl-C. */
  readonly #interrupted: (() => void)[];
  #line: number[] = [];
  #size: TerminalSize = { columns: 80, rows: 24 };

  constructor(screen: ByteSink, interrupted: () => void) {
    this.#screen = screen;
    this.#interrupted = [interrupted];
    this.output = {
      write: async (bytes) => screen.write(withReturns(bytes)),
      end: async () => {},
    };
  }

  get size(): TerminalSize {
    return this.#size;
  }

  onInterrupt(listener: () => void): Disposable {
    this.#interrupted.push(listener);
    return {
      [Symbol.dispose]: () => {
        const index = this.#interrupted.lastIndexOf(listener);
        if (index > 0) this.#interrupted.splice(index, 1);
      },
    };
  }

  /** To the end of what is typed. */
  async type(keys: ByteSource): Promise<void> {
    for (let bytes = await keys.read(); bytes !== undefined; bytes = await keys.read()) {
      for (const byte of bytes) await this.#press(byte);
    }
    await this.input.end();
  }

  /** To the end of the resize stream. What cannot be read as a size is passed over. */
  async follow(resizes: ByteSource): Promise<void> {
    let text = '';
    for (let bytes = await resizes.read(); bytes !== undefined; bytes = await resizes.read()) {
      text += bytes.toString();
      const texts = text.split('}');
      text = (texts.pop() ?? '').slice(0, maxLineBytes);
      for (const each of texts) this.#resize(`${each}}`);
    }
  }

  #resize(text: string): void {
    const size = /"Width":(\d{1,5}),"Height":(\d{1,5})/.exec(text);
    if (size !== null) this.#size = { columns: Number(size[1]), rows: Number(size[2]) };
  }

  async #press(byte: number): Promise<void> {
    switch (byte) {
      case key.enter:
      case key.newline: {
        await this.#screen.write(Buffer.from('\r\n'));
        const line = Buffer.from([...this.#line, key.newline]);
        this.#line = [];
        return this.input.write(line).catch(() => {});
      }
      case key.interrupt:
        this.#line = [];
        await this.#screen.write(Buffer.from('^C\r\n'));
        return this.#interrupted.at(-1)?.();
      case key.endOfInput:
        if (this.#line.length === 0) await this.input.end();
        return undefined;
      case key.backspace:
      case key.delete:
        if (this.#line.pop() !== undefined) await this.#screen.write(Buffer.from('\b \b'));
        return undefined;
      default:
        if (this.#line.length >= maxLineBytes) return undefined;
        this.#line.push(byte);
        return this.#screen.write(Buffer.from([byte]));
    }
  }
}

function withReturns(bytes: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(bytes).toString('latin1').replaceAll('\n', '\r\n'), 'latin1');
}
