/** Many open watches, each on a connection of its own, as as many clients have them. */

import type { Socket } from 'node:net';
import { openSocket } from './http1-lane.ts';

export interface WatchLoadOptions {
  readonly url: string;
  readonly caPem: string;
  readonly streams: number;
}

/** So many are opened at a time. */
const openingAtOnce = 50;
const eventTimeoutMs = 20_000;
/** Nothing that comes before an event is longer. */
const keptCharacters = 16_384;

export class WatchLoad {
  readonly #watches: readonly Watch[];

  private constructor(watches: readonly Watch[]) {
    this.#watches = watches;
  }

  /** Resolves when each has had its first event. */
  static async open(options: WatchLoadOptions): Promise<WatchLoad> {
    const watches: Watch[] = [];
    while (watches.length < options.streams) {
      const count = Math.min(openingAtOnce, options.streams - watches.length);
      const opened = await Promise.all(Array.from({ length: count }, () => Watch.open(options)));
      await Promise.all(opened.map((watch) => watch.sees(eventMark(1))));
      watches.push(...opened);
    }
    return new WatchLoad(watches);
  }

  /** How many of them have got the event of that number in time. */
  async delivered(event: number): Promise<number> {
    const seen = await Promise.allSettled(this.#watches.map((watch) => watch.sees(eventMark(event))));
    return seen.filter(({ status }) => status === 'fulfilled').length;
  }

  close(): void {
    for (const watch of this.#watches) watch.close();
  }
}

/** How an event is told from another in the stream. */
function eventMark(event: number): string {
  return `"resourceVersion":"${event}"`;
}

class Watch {
  readonly #socket: Socket;
  #text = '';
  #waiting: { readonly mark: string; readonly seen: () => void } | undefined;
  #ended = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.#text = (this.#text + text).slice(-keptCharacters);
      if (this.#waiting !== undefined && this.#has(this.#waiting.mark)) this.#waiting.seen();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => (this.#ended = true));
  }

  static async open({ url, caPem }: WatchLoadOptions): Promise<Watch> {
    const { host, pathname, search } = new URL(url);
    const socket = await openSocket({ url, caPem });
    const watch = new Watch(socket);
    socket.write(
      `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nAccept: application/json\r\nUser-Agent: bench\r\n\r\n`,
    );
    return watch;
  }

  async sees(mark: string): Promise<void> {
    if (this.#has(mark)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting = { mark, seen: resolve };
    const limit = setTimeout(
      () =>
        reject(
          new Error(`no event with ${mark}${this.#ended ? '; the stream has ended' : ''}:\n${this.#text}`),
        ),
      eventTimeoutMs,
    );
    try {
      await promise;
    } finally {
      clearTimeout(limit);
    }
  }

  /** An event may be cut by the framing of chunks (RFC 9112, section 7.1), anywhere. */
  #has(mark: string): boolean {
    return this.#text.replaceAll(/\r\n[0-9a-f]+\r\n/gi, '').includes(mark);
  }

  close(): void {
    this.#socket.destroy();
  }
}
