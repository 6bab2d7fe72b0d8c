/**
 * One connection and its explicit state. What the two protocols share is here: counting the exchanges that ride on it,
 * and who is told when one ends. The protocols themselves are `http1-connection.ts` and `http2-connection.ts`.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TransportError } from './errors.ts';
import type { RequestKind, RequestOptions } from './request.ts';

/**
 * - `idle`: open, nothing rides on it.
 * - `active`: at least one exchange rides on it.
 * - `draining`: takes no new exchange; closes when the last one ends.
 * - `closed`: the socket is gone.
 *
 * Before them comes `opening`, which is a dial and not yet a connection.
 */
export type ConnectionState = 'idle' | 'active' | 'draining' | 'closed';

/** The means to act on an exchange that is under way. */
export interface AttemptControls {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

export interface ResponseHead {
  readonly statusCode: number;
  readonly statusMessage: string;
  /** Names in lower case; repeated fields as lists. */
  readonly headers: IncomingHttpHeaders;
  /** Name, value, ... as they came, without HTTP/2's pseudo-fields. */
  readonly rawHeaders: string[];
}

/** What a connection tells the exchange that rides on it. */
export interface AttemptSink {
  readonly options: RequestOptions;
  attach(controls: AttemptControls): void;
  responseStarted(head: ResponseHead): void;
  responseData(chunk: Buffer): void;
  responseEnded(rawTrailers: string[]): void;
  /** `untouched`: not one byte of the request can have reached the server's application. */
  attemptFailed(error: TransportError, untouched: boolean): void;
}

/** The transport, as its connections see it. */
export interface ConnectionOwner {
  /** The peer allows more than before. */
  connectionHasRoom(connection: Connection): void;
  /** An exchange of this kind has left the connection. */
  connectionReleased(connection: Connection, kind: RequestKind): void;
  /** It takes no new exchange from now on, by our will or the peer's. */
  connectionRetiring(connection: Connection): void;
  connectionClosed(connection: Connection): void;
  /** The server has agreed to HTTP/2, and does not speak it. */
  http2Refused(): void;
  /** It is given up, since the server did not answer a PING. */
  pingUnanswered(): void;
}

export abstract class Connection {
  abstract readonly protocol: 'http/1.1' | 'h2';
  readonly socket: Duplex;
  readonly openedAt: number;
  lastUsedAt: number;
  /** Exchanges that were ever sent on it. */
  requests = 0;
  #hasIdled = false;
  protected readonly owner: ConnectionOwner;
  #state: ConnectionState = 'idle';
  readonly #riding: Record<RequestKind, number> = { unary: 0, stream: 0 };

  constructor(socket: Duplex, owner: ConnectionOwner, now: number) {
    this.socket = socket;
    this.owner = owner;
    this.openedAt = now;
    this.lastUsedAt = now;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get riding(): number {
    return this.#riding.unary + this.#riding.stream;
  }

  ridingOf(kind: RequestKind): number {
    return this.#riding[kind];
  }

  /** Whether it was kept for later: the peer may have closed it meanwhile, and the news may still be on its way. */
  get kept(): boolean {
    return this.#hasIdled || this.requests > 0;
  }

  /** For the transport: nobody has a use for it at present. */
  idles(): void {
    this.#hasIdled = true;
  }

  /** Whether one more exchange of this kind may be sent now. */
  hasRoom(kind: RequestKind): boolean {
    return (
      (this.#state === 'idle' || this.#state === 'active') && !this.socket.destroyed && this.admits(kind)
    );
  }

  send(sink: AttemptSink, now: number): void {
    const kind = sink.options.kind ?? 'unary';
    this.requests += 1;
    this.lastUsedAt = now;
    this.#riding[kind] += 1;
    this.#state = 'active';
    this.write(sink, kind);
  }

  /** No new exchange; closes now when it is idle, or when the last exchange ends. Idempotent. */
  retire(): void {
    const was = this.#state;
    if (was !== 'idle' && was !== 'active') {
      return;
    }
    this.#state = 'draining';
    this.owner.connectionRetiring(this);
    if (was === 'idle') {
      this.end();
    }
  }

  /** Cuts it, and with it what rides on it. Idempotent. */
  destroy(error: TransportError): void {
    if (this.#state !== 'closed') {
      this.#state = 'draining';
      this.cut(error);
    }
  }

  protected abstract admits(kind: RequestKind): boolean;
  protected abstract write(sink: AttemptSink, kind: RequestKind): void;
  /** Closes the connection, on which nothing rides. */
  protected abstract end(): void;
  protected abstract cut(error: TransportError): void;

  /** For the protocol: an exchange has left. */
  protected release(kind: RequestKind, now: number): void {
    this.#riding[kind] -= 1;
    this.lastUsedAt = now;
    if (this.#state === 'active' && this.riding === 0) {
      this.#state = 'idle';
    } else if (this.#state === 'draining' && this.riding === 0) {
      this.end();
    }
    this.owner.connectionReleased(this, kind);
  }

  /** For the protocol: the socket is gone. */
  protected markClosed(): void {
    if (this.#state !== 'closed') {
      this.#state = 'closed';
      this.owner.connectionClosed(this);
    }
  }
}
