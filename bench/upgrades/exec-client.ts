/** The client's end of an exec, on a bare socket: its bytes are counted, and read as fast as they come or at a pace. */

import type { Socket } from 'node:net';
import { openSocket } from '../load/http1-lane.ts';
import type { ExecCommand } from './exec-upstream.ts';
import { inputFrame } from './frames.ts';
import type { SessionProtocol } from './frames.ts';

export interface ExecAsk {
  /** Of the upstream's root; `https:` means TLS. */
  readonly url: string;
  /** Certificate authority of an `https:` front. */
  readonly caPem: string;
  readonly protocol: SessionProtocol;
}

const headEnd = Buffer.from('\r\n\r\n');
const maxHeadBytes = 65_536;
const answerTimeoutMs = 20_000;

export class ExecClient {
  readonly #socket: Socket;
  readonly #protocol: SessionProtocol;
  readonly #bytesPerSecond: number;
  readonly #switched = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void>();
  /** Resolves whoever waits for bytes. */
  #arrived: (() => void) | undefined;
  /** Undefined behind the head. */
  #head: Buffer | undefined = Buffer.alloc(0);
  #bytes = 0;
  #startedAt = 0;
  #waking: NodeJS.Timeout | undefined;

  private constructor(socket: Socket, protocol: SessionProtocol, bytesPerSecond: number) {
    this.#socket = socket;
    this.#protocol = protocol;
    this.#bytesPerSecond = bytesPerSecond;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    // Its 'close' follows.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#switched.reject(new Error(`no 101 came, but:\n${this.#head?.toString('latin1') ?? ''}`));
      this.#closed.resolve();
      this.#arrived?.();
    });
    this.#switched.promise.catch(() => undefined);
  }

  /**
   * Resolves when the other end has agreed.
   *
   * @param bytesPerSecond at which it is read; default: as fast as it comes
   */
  static async open(
    { url, caPem, protocol }: ExecAsk,
    command: ExecCommand,
    bytesPerSecond = Number.POSITIVE_INFINITY,
  ): Promise<ExecClient> {
    const { host, pathname } = new URL(url);
    const socket = await openSocket({ url, caPem });
    const client = new ExecClient(socket, protocol, bytesPerSecond);
    const path = `${pathname === '/' ? '' : pathname}/api/v1/namespaces/default/pods/p/exec?command=${command}&stdout=true`;
    const method = protocol === 'websocket' ? 'GET' : 'POST';
    const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, 'User-Agent: bench', ...askFor[protocol]];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    await client.#switched.promise;
    return client;
  }

  /** Behind the head. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sends a few bytes, and resolves when an answer has come: whether it has, and not the end. */
  async ping(): Promise<boolean> {
    const before = this.#bytes;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#arrived = resolve;
    this.#socket.write(inputFrame(this.#protocol));
    const limit = setTimeout(resolve, answerTimeoutMs);
    await promise;
    clearTimeout(limit);
    return this.#bytes > before;
  }

  /** Resolves when both directions have ended. */
  async closes(): Promise<void> {
    await this.#closed.promise;
  }

  close(): void {
    clearTimeout(this.#waking);
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#head === undefined) {
      this.#count(chunk.length);
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf(headEnd);
    if (
      end < 0 ? this.#head.length > maxHeadBytes : !this.#head.toString('latin1', 0, end).includes(' 101 ')
    ) {
      this.#socket.destroy();
      return;
    }
    if (end < 0) return;
    const rest = this.#head.length - end - headEnd.length;
    this.#head = undefined;
    this.#startedAt = performance.now();
    this.#switched.resolve();
    if (rest > 0) this.#count(rest);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#arrived?.();
    const aheadMs = this.#startedAt + (this.#bytes / this.#bytesPerSecond) * 1000 - performance.now();
    if (aheadMs > 1) {
      this.#socket.pause();
      this.#waking = setTimeout(() => this.#socket.resume(), aheadMs);
    }
  }
}

/** The key is that of RFC 6455, section 1.3. */
const askFor: Readonly<Record<SessionProtocol, readonly string[]>> = {
  'SPDY/3.1': [
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
    'Content-Length: 0',
  ],
  websocket: [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: v5.channel.k8s.io',
  ],
};
