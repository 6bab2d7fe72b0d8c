/** An `Exchange` over HTTP/2: one stream. */

import { constants, type ServerHttp2Stream } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  RecordedExchange,
  withContentLength,
  type Exchange,
  type Reply,
  type ReplyHeaders,
} from './exchange.ts';
import type { RecordedRequest } from './recorded-request.ts';

/** Headers about a connection mean nothing here (RFC 9113, 8.2.2); they are left out, so that a handler can serve both protocols. */
const connectionHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

export class Http2Exchange extends RecordedExchange implements Exchange {
  readonly upgrade = undefined;
  readonly #stream: ServerHttp2Stream;
  #trailers: Readonly<Record<string, string>> = {};

  constructor(request: RecordedRequest, stream: ServerHttp2Stream, collectBody: () => Promise<void>) {
    super(request, collectBody);
    this.#stream = stream;
    // A reset by either side is no fault of the peer's: `signal` tells the handler.
    stream.on('error', () => {});
    stream.on('wantTrailers', () => stream.sendTrailers({ ...this.#trailers }));
    stream.once('close', () => {
      this.settle(stream.writableFinished && stream.rstCode === constants.NGHTTP2_NO_ERROR);
    });
  }

  async respond(reply: Reply = {}): Promise<void> {
    const { status = 200, body, trailers } = reply;
    if (this.#gone) return;
    this.#respond(status, withContentLength(reply));
    await this.end(body, trailers);
  }

  inform(status: number, headers: ReplyHeaders = {}): void {
    if (!this.#gone) this.#stream.additionalHeaders({ ':status': status, ...streamHeaders(headers) });
  }

  async writeHead(status: number, headers: ReplyHeaders = {}): Promise<void> {
    if (this.#gone) return;
    this.#respond(status, headers);
    // A frame of its own has no callback; the session writes what it has at the end of the turn.
    await nextTurn();
    await nextTurn();
  }

  async write(chunk: string | Uint8Array): Promise<void> {
    if (this.#gone) return;
    if (!this.#stream.headersSent) this.#respond(200, {});
    if (!this.#stream.writableEnded) await this.sent((done) => this.#stream.write(chunk, done));
  }

  async end(chunk: string | Uint8Array = '', trailers?: Readonly<Record<string, string>>): Promise<void> {
    if (this.#gone) return;
    if (trailers !== undefined) this.#trailers = trailers;
    if (!this.#stream.headersSent) this.#respond(200, {});
    // Node itself ends a stream that may have no body.
    if (!this.#stream.writableEnded) await this.sent((done) => this.#stream.end(chunk, done));
  }

  reset(code: number = constants.NGHTTP2_INTERNAL_ERROR): void {
    if (!this.#stream.destroyed) this.#stream.close(code);
  }

  #respond(status: number, headers: ReplyHeaders): void {
    // Where HTTP allows no body, Node ends the stream with the head and must not be told to wait for trailers.
    const bodiless = this.request.method === 'HEAD' || status === 204 || status === 304;
    this.#stream.respond({ ':status': status, ...streamHeaders(headers) }, { waitForTrailers: !bodiless });
  }

  get #gone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }
}

function streamHeaders(headers: ReplyHeaders): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), typeof value === 'string' ? value : [...value]] as const)
      .filter(([name]) => !connectionHeaders.has(name)),
  );
}
