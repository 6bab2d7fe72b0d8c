/**
 * Standard output for a log. Lines are handed over in batches, since a system call and a change of threads for each of
 * thousands a second cost more than to make them; they are written in the background, so that whoever reads them slowly holds up
 * nothing; and what nobody takes is bounded.
 */

import { pino } from 'pino';
import type { DestinationStream } from 'pino';

/** A line waits no longer than this for others. Nobody who reads a log can tell. */
const batchMs = 20;
const batchLength = 16_384;
/** Beyond it lines are dropped, and their number is told once there is room again. */
const maxBufferedBytes = 16 * 1_048_576;
/** At the end of the process a full pipe is tried again every 100 ms; a reader that is frozen must not keep us for ever. */
const maxLastTries = 20;

/** What it needs of pino's own writer. */
export interface LogSink {
  write(lines: string): boolean;
  flushSync(): void;
  destroy(): void;
  on(event: 'drop' | 'error', listener: () => void): unknown;
}

/** It lives as long as the process; its last lines are written when that exits, in whatever way but a kill. */
export function openLogOutput(): DestinationStream {
  let ending = false;
  let lastTries = 0;
  const sink = pino.destination({
    // Not plainly 1: with its stream a pipe does not block, so that a reader that is frozen cannot keep a thread, and us with it.
    dest: process.stdout.fd,
    sync: false,
    maxLength: maxBufferedBytes,
    retryEAGAIN: () => {
      lastTries += ending ? 1 : 0;
      return lastTries <= maxLastTries;
    },
  });
  const output = new LogOutput(sink);
  // Before pino's own, which only knows of what it has.
  process.prependListener('exit', () => {
    ending = true;
    output.end();
  });
  return output;
}

export class LogOutput implements DestinationStream {
  readonly #sink: LogSink;
  #lines = '';
  #count = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(sink: LogSink) {
    this.#sink = sink;
    sink.on('drop', () => (this.#dropped += this.#count));
    // A full disk, for instance: it is tried again with the next batch, and is no reason to end the process.
    sink.on('error', () => undefined);
  }

  write(line: string): void {
    this.#lines += line;
    this.#count += 1;
    if (this.#lines.length >= batchLength) {
      this.#flush();
    } else if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#flush(), batchMs);
      this.#timer.unref();
    }
  }

  /** Writes what there is before it returns. */
  end(): void {
    this.#flush();
    try {
      this.#sink.flushSync();
    } catch {
      // Nobody takes it, and there is nobody to tell.
      this.#sink.destroy();
    }
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#count === 0) {
      return;
    }
    const told = this.#dropped;
    this.#sink.write(told === 0 ? this.#lines : droppedLine(told) + this.#lines);
    if (this.#dropped === told) {
      this.#dropped = 0;
    }
    this.#lines = '';
    this.#count = 0;
  }
}

function droppedLine(lines: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, lines, msg: 'log lines were dropped since nobody took them' })}\n`;
}
