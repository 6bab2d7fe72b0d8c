/**
 * Standard output for a log. Lines are handed over in batches, since a system call for each of thousands a second costs more than to
 * make them. A reader that is slow holds up nothing: a full pipe takes what it can, the rest waits here, and what nobody takes is
 * bounded. Nothing is written in the background: of a write that is under way when the process ends, nobody can say how much was
 * taken, and those would be the lines that say how it ended.
 */

import { writeSync } from 'node:fs';
import type { DestinationStream } from 'pino';

/** A line waits no longer than this for others. Nobody who reads a log can tell. */
const batchMs = 20;
const batchLength = 16_384;
/** Beyond it lines are dropped, and their number is told once there is room again. */
const maxWaitingBytes = 16 * 1_048_576;
/** At the end of the process a full pipe is tried again after this time; a reader that takes nothing must not keep us for ever. */
const lastTryMs = 5;
const maxLastTries = 400;

export interface LogSink {
  /** Takes what it can without waiting for anybody, and says how many bytes that were. Throws when it takes no more at all. */
  write(bytes: Buffer): number;
}

/** It lives as long as the process; its last lines are written when that exits, in whatever way but a kill. */
export function openLogOutput(): DestinationStream {
  const output = new LogOutput(stdout());
  process.prependListener('exit', () => output.end());
  return output;
}

function stdout(): LogSink {
  // Not plainly 1: with its stream a pipe does not block.
  const { fd } = process.stdout;
  return {
    write: (bytes) => {
      try {
        return writeSync(fd, bytes);
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') {
          return 0;
        }
        throw error;
      }
    },
  };
}

export class LogOutput implements DestinationStream {
  readonly #sink: LogSink;
  readonly #maxWaitingBytes: number;
  /** Of the next batch. */
  #lines = '';
  /** Not taken yet; bounded by `maxWaitingBytes`, as far as lines are ASCII. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(sink: LogSink, limits: { readonly maxWaitingBytes?: number } = {}) {
    this.#sink = sink;
    this.#maxWaitingBytes = limits.maxWaitingBytes ?? maxWaitingBytes;
  }

  write(line: string): void {
    if (this.#waitingBytes + this.#lines.length + line.length > this.#maxWaitingBytes) {
      this.#dropped += 1;
      return;
    }
    if (this.#dropped > 0) {
      this.#lines += droppedLine(this.#dropped);
      this.#dropped = 0;
    }
    this.#lines += line;
    if (this.#lines.length >= batchLength) {
      this.#flush();
    } else {
      this.#flushSoon();
    }
  }

  /** Writes what there is before it returns, unless nobody takes it. */
  end(): void {
    let takes = this.#flush();
    for (let tries = 0; takes && this.#waitingBytes > 0 && tries < maxLastTries; tries += 1) {
      const before = this.#waitingBytes;
      pause(lastTryMs);
      takes = this.#flush();
      if (this.#waitingBytes < before) {
        tries = 0;
      }
    }
    clearTimeout(this.#timer);
  }

  /** False when the sink is broken, for now. */
  #flush(): boolean {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines !== '') {
      const bytes = Buffer.from(this.#lines);
      this.#lines = '';
      this.#waiting.push(bytes);
      this.#waitingBytes += bytes.length;
    }
    let takes = true;
    try {
      this.#drain();
    } catch {
      // A full disk, for instance, is no reason to end the process, and there is nobody to tell.
      takes = false;
    }
    if (this.#waitingBytes > 0) {
      this.#flushSoon();
    }
    return takes;
  }

  #flushSoon(): void {
    if (this.#timer === undefined) {
      this.#timer = setTimeout(() => this.#flush(), batchMs);
      this.#timer.unref();
    }
  }

  /** As far as the sink takes it. */
  #drain(): void {
    for (let next = this.#waiting.at(0); next !== undefined; next = this.#waiting.at(0)) {
      const taken = this.#sink.write(next);
      this.#waitingBytes -= taken;
      if (taken < next.length) {
        this.#waiting[0] = next.subarray(taken);
        return;
      }
      this.#waiting.shift();
    }
  }
}

/** Blocks: there is no event loop any more. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function droppedLine(lines: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, lines, msg: 'log lines were dropped since nobody took them' })}\n`;
}
