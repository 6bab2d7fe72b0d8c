// Where the command line writes: data to stdout, words to stderr, colour only where somebody looks.

import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

export type ColourMode = 'auto' | 'always' | 'never';
export type Style = Parameters<typeof styleText>[0];

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export class Terminal {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  colour: ColourMode = 'auto';

  constructor(stdout: OutputStream, stderr: OutputStream) {
    this.stdout = stdout;
    this.stderr = stderr;
  }

  /** Data: what a pipe wants to have. */
  write(text: string): void {
    this.stdout.write(text);
  }

  /** Words for the person in front of it. */
  note(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  get isInteractive(): boolean {
    return this.stdout.isTTY === true;
  }

  /** `auto` follows NO_COLOR, FORCE_COLOR and whether the stream is a terminal. */
  style(style: Style, text: string, stream: OutputStream = this.stdout): string {
    if (this.colour === 'never') return text;
    return styleText(style, text, this.colour === 'always' ? { validateStream: false } : { stream });
  }
}
