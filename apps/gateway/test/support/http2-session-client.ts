/** A WebSocket over HTTP/2 (RFC 8441): a stream of an extended CONNECT, and then bytes as they are. */

import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { execPath } from './session-client.ts';

export interface Http2SessionRequest {
  readonly path?: string;
  readonly fields?: OutgoingHttpHeaders;
  /** Sent before the answer. */
  readonly early?: string;
}

export class Http2SessionClient implements Disposable {
  readonly stream: ClientHttp2Stream;
  readonly #chunks: Buffer[] = [];
  #fields: Readonly<Record<string, unknown>> | undefined;
  #ended = false;
  #closed = false;
  #error: Error | undefined;
  /** Those who wait for something. */
  readonly #looking = new Set<() => void>();

  constructor(session: ClientHttp2Session, request: Http2SessionRequest = {}) {
    const { path = execPath, fields = {}, early = '' } = request;
    const stream = session.request(
      {
        ':method': 'CONNECT',
        ':protocol': 'websocket',
        ':scheme': 'https',
        ':path': path,
        'sec-websocket-version': '13',
        'sec-websocket-protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
        ...fields,
      },
      { endStream: false },
    );
    this.stream = stream;
    const changed = (): void => {
      for (const look of this.#looking) look();
    };
    stream.once('response', (answered) => {
      this.#fields = { ...answered };
      changed();
    });
    stream.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      changed();
    });
    stream.once('end', () => {
      this.#ended = true;
      changed();
    });
    stream.once('error', (error) => {
      this.#error = error;
    });
    stream.once('close', () => {
      this.#closed = true;
      changed();
    });
    if (early !== '') this.write(early);
  }

  /** Of the answer; 0 while there is none. */
  get status(): number {
    return Number(this.#fields?.[':status'] ?? 0);
  }

  /** Of the answer; names in lower case. */
  get fields(): Readonly<Record<string, unknown>> {
    return this.#fields ?? {};
  }

  /** What came; latin1. */
  get body(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  /** Whether the gateway ended its direction in good order: before a reset, if there was one. */
  get ended(): boolean {
    return this.#ended;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get error(): Error | undefined {
    return this.#error;
  }

  /** Strings as latin1. */
  write(bytes: string | Buffer): boolean {
    return this.stream.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Ends our direction in good order. */
  end(): void {
    this.stream.end();
  }

  /** RST_STREAM, without an end before it. */
  reset(): void {
    this.stream.destroy(new Error('broken off'));
  }

  /** Resolves when it holds; it is looked at whenever something comes, and at the end. */
  async until(holds: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (holds()) resolve();
      else if (this.#closed)
        reject(new Error(`The stream is closed (${this.status}); this came: ${this.body.slice(0, 400)}`));
    };
    this.#looking.add(look);
    look();
    await promise.finally(() => this.#looking.delete(look));
  }

  /** The head of the answer is there. */
  async answered(): Promise<this> {
    await this.until(() => this.#fields !== undefined);
    return this;
  }

  /** The gateway has ended its direction or the stream, in whatever way; ours is ended after it. */
  async gone(): Promise<void> {
    await this.until(() => this.#ended || this.#closed);
    this.stream.end();
    await this.closes();
  }

  /** Resolves when the stream is gone. */
  async closes(): Promise<void> {
    await this.until(() => this.#closed);
  }

  [Symbol.dispose](): void {
    this.stream.destroy();
  }
}
