/**
 * One request as the handler of a `RecordingServer` has it in hand. Nothing is answered by itself: a handler that returns without
 * replying is a server that never answers. Once the client is gone every method that sends does nothing, as the operating
 * system would have it; whoever wants to know looks at `signal`.
 */

import type { Socket } from 'node:net';
import type { RecordedConnection } from './recorded-connection.ts';
import type { RecordedRequest } from './recorded-request.ts';

/** Names keep their case over HTTP/1.1; a list of values is a header repeated. */
export type ReplyHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface Reply {
  /** Default: 200. */
  readonly status?: number;
  readonly headers?: ReplyHeaders;
  readonly body?: string | Uint8Array;
  /** Sent after the body, which goes without a length then. */
  readonly trailers?: Readonly<Record<string, string>>;
}

/** A request that wants to go on in another protocol. */
export interface UpgradeRequest {
  /** What came right behind the head. */
  readonly early: Buffer;
  /**
   * Writes this head, and these bytes along with it; then the socket is the caller's, `early` not read from it any more. Undefined when
   * the client has gone.
   */
  switchProtocols(head: string, alongWith?: string | Uint8Array): Socket | undefined;
}

export interface Exchange {
  readonly request: RecordedRequest;
  /** Undefined unless the request has an Upgrade field, came over HTTP/1.1, and the server has upgrades. */
  readonly upgrade: UpgradeRequest | undefined;
  readonly connection: RecordedConnection;
  /** Aborted when the exchange ends before the reply is complete: the client went away, or the server cut it. */
  readonly signal: AbortSignal;
  /** Resolves when the exchange has ended, well or not. */
  readonly closed: Promise<void>;

  /** The request's body, read to its end (its first `keepBodyBytes`). Rejects with `ExchangeAborted` when it ends before. */
  readBody(): Promise<Buffer>;
  /** The whole reply in one go, with a content-length unless the headers say otherwise. */
  respond(reply?: Reply): Promise<void>;
  /** 1xx before the reply, such as 100 or 103. */
  inform(status: number, headers?: ReplyHeaders): void;
  /** Status and headers alone. Resolves when they are with the operating system. */
  writeHead(status: number, headers?: ReplyHeaders): Promise<void>;
  /** A piece of the body. Resolves when it is with the operating system, which is how the client's back-pressure is felt. */
  write(chunk: string | Uint8Array): Promise<void>;
  end(chunk?: string | Uint8Array, trailers?: Readonly<Record<string, string>>): Promise<void>;
  /** Cuts the exchange: RST of the connection over HTTP/1.1; over HTTP/2 RST_STREAM with `code`, INTERNAL_ERROR by default. */
  reset(code?: number): void;
}

export type Handler = (exchange: Exchange) => void | Promise<void>;

/** The exchange ended before what was waited for. */
export class ExchangeAborted extends Error {
  constructor(request: RecordedRequest) {
    super(`${request.method} ${request.path} ended early`);
    this.name = 'ExchangeAborted';
  }
}

/** What an exchange is over either protocol; the protocols add how to send. */
export abstract class RecordedExchange {
  readonly request: RecordedRequest;
  readonly connection: RecordedConnection;
  readonly signal: AbortSignal;
  readonly closed: Promise<void>;
  readonly #collectBody: () => Promise<void>;
  readonly #gone = new AbortController();
  readonly #closed = Promise.withResolvers<void>();

  constructor(request: RecordedRequest, collectBody: () => Promise<void>) {
    this.request = request;
    this.connection = request.connection;
    this.signal = this.#gone.signal;
    this.closed = this.#closed.promise;
    this.#collectBody = collectBody;
  }

  async readBody(): Promise<Buffer> {
    await Promise.race([this.#collectBody(), this.closed]);
    if (!this.request.bodyEnded) throw new ExchangeAborted(this.request);
    return this.request.body;
  }

  /** Called once, when no more can be sent or received. */
  protected settle(answered: boolean): void {
    this.request.settle(answered ? 'answered' : 'aborted');
    if (!answered) this.#gone.abort(new ExchangeAborted(this.request));
    this.#closed.resolve();
  }

  /** Resolves when `send` calls back, or when the exchange ends: Node forgets the callbacks of what it could not send any more. */
  protected async sent(send: (done: () => void) => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    send(resolve);
    await Promise.race([promise, this.closed]);
  }
}

/** Headers of a reply whose body is known, with its length where HTTP allows one and the handler has not set another framing. */
export function withContentLength(reply: Reply): ReplyHeaders {
  const { status = 200, headers = {}, body = '', trailers } = reply;
  const framed = Object.keys(headers).some((name) => /^(?:content-length|transfer-encoding)$/i.test(name));
  if (framed || trailers !== undefined || status < 200 || status === 204 || status === 304) return headers;
  return { ...headers, 'content-length': String(Buffer.byteLength(body)) };
}
