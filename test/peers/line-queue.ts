/**
 * The lines of a stream, kept in order until somebody asks for them; one reader at a time. What was read last stays for a while, so
 * that the error about a line that never came can show what came instead.
 */

import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** As much of the past as an error message can use. */
const maxRecentLines = 50;

export class LineQueue implements AsyncIterable<string> {
  readonly #unread: string[] = [];
  readonly #recent: string[] = [];
  #ended = false;
  /** Resolved when a line arrives or the stream ends, then replaced. */
  #news = Promise.withResolvers<void>();

  /** Reads `source` to its end. The reading ends with the stream, so the stream's owner is the owner of both. */
  static over(source: Readable): LineQueue {
    const queue = new LineQueue();
    createInterface({ input: source, crlfDelay: Infinity })
      .on('line', (line) => {
        queue.#unread.push(line);
        queue.#announce();
      })
      .on('close', () => {
        queue.#ended = true;
        queue.#announce();
      });
    return queue;
  }

  /** The lines read last and those that wait to be read. */
  get recent(): readonly string[] {
    return [...this.#recent, ...this.#unread].slice(-maxRecentLines);
  }

  /** The next line that matches; those before it are taken too. Rejects when the time is up or the stream ends first. */
  async next(matches: (line: string) => boolean, timeoutMs: number): Promise<string> {
    const { promise: timeUp, reject } = Promise.withResolvers<never>();
    const limit = setTimeout(() => reject(new Error(`No such line within ${timeoutMs} ms`)), timeoutMs);
    try {
      for (;;) {
        const line = this.#take();
        if (line === undefined) {
          if (this.#ended) throw new Error('The output ended without such a line');
          await Promise.race([this.#news.promise, timeUp]);
        } else if (matches(line)) {
          return line;
        }
      }
    } finally {
      clearTimeout(limit);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    for (;;) {
      const line = this.#take();
      if (line !== undefined) yield line;
      else if (this.#ended) return;
      else await this.#news.promise;
    }
  }

  #take(): string | undefined {
    const line = this.#unread.shift();
    if (line !== undefined) {
      this.#recent.push(line);
      if (this.#recent.length > maxRecentLines) this.#recent.shift();
    }
    return line;
  }

  #announce(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}
