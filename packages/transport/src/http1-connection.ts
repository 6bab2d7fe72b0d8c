/**
 * HTTP/1.1 on one socket. undici writes and parses; it gets exactly one socket, and when that is gone the connection is
 * gone: it never reconnects by itself, and it never retries.
 */

import { Client } from 'undici';
import type { Dispatcher, buildConnector } from 'undici';
import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Duplex } from 'node:stream';
import { Connection } from './connection.ts';
import type { AttemptSink, ConnectionOwner } from './connection.ts';
import type { Clock } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import { failureOf } from './failure.ts';
import { rawFields, withHost } from './http1-fields.ts';
import { LentBody } from './lent-body.ts';
import type { RequestKind } from './request.ts';

/** A server's own promise (`Keep-Alive: timeout=`) is honoured, less this margin for the way. */
const keepAliveMarginMs = 1_000;

export class Http1Connection extends Connection {
  readonly protocol = 'http/1.1';
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #client: Client;
  #attached = false;
  #rider: Rider | undefined;

  constructor(
    socket: Duplex,
    endpoint: Endpoint,
    owner: ConnectionOwner,
    clock: Clock,
    idleTimeoutMs: number,
  ) {
    super(socket, owner, clock.now());
    this.#endpoint = endpoint;
    this.#clock = clock;
    // The origin is http also over TLS: for https undici takes another Host field for another server and reconnects.
    this.#client = new Client(`http://${endpoint.authority}`, {
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Idle time is the pool's matter; undici's own timer only ever acts on a server's shorter promise.
      keepAliveTimeout: idleTimeoutMs + 60_000,
      keepAliveMaxTimeout: idleTimeoutMs + 60_000,
      keepAliveTimeoutThreshold: keepAliveMarginMs,
      // Not at once: undici does not look at what it gets while it still asks.
      connect: (_options, callback) => queueMicrotask(() => this.#hand(callback)),
    });
    // undici reports here what it cannot report to a request; the socket's end says all that matters to us.
    const emitter: EventEmitter = this.#client;
    emitter.on('error', () => undefined);
    socket.once('close', () => this.markClosed());
    // Until undici reads from the socket, somebody must notice that the peer closes it or speaks out of turn.
    socket.on('readable', this.#spoken);
    // From when it has it, undici does the same: what is idle must not keep the process alive.
    call(socket, 'unref');
  }

  readonly #spoken = (): void => {
    this.socket.destroy();
  };

  /** undici asks for its socket: the first time it gets it, and never another. */
  #hand(callback: buildConnector.Callback): void {
    if (this.#attached || this.socket.destroyed) {
      callback(
        new TransportError('ERR_RH_CONNECTION_LOST', `the connection to ${this.#endpoint.origin} is gone`),
        null,
      );
      if (this.#rider !== undefined) {
        this.socket.destroy();
      }
      return;
    }
    this.#attached = true;
    this.socket.off('readable', this.#spoken);
    call(this.socket, 'ref');
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- undici reads and writes any duplex
    callback(null, this.socket as Socket);
  }

  protected override admits(): boolean {
    return this.riding === 0;
  }

  protected override write(sink: AttemptSink, kind: RequestKind): void {
    const rider = new Rider(sink, kind, this.#endpoint, this.socket, this);
    this.#rider = rider;
    sink.attach(rider);
    const { method, path, headers, body } = sink.options;
    const request: Dispatcher.DispatchOptions = {
      method,
      path,
      headers: withHost(headers, this.#endpoint.authority),
      body: body instanceof Readable ? new LentBody(body) : (body ?? null),
      idempotent: false,
      blocking: false,
    };
    // By itself undici closes after a DELETE with a body, which is how kubectl deletes. After HEAD it does so, too, and
    // may: there are servers that send the body all the same.
    if (method !== 'HEAD') {
      request.reset = false;
    }
    this.#client.dispatch(request, rider);
  }

  /** For the rider: it has left. */
  left(rider: Rider): void {
    if (this.#rider === rider) {
      this.#rider = undefined;
      this.release(rider.kind, this.#clock.now());
    }
  }

  protected override end(): void {
    this.socket.destroy();
  }

  protected override cut(error: TransportError): void {
    const rider = this.#rider;
    this.socket.destroy();
    rider?.cut(error);
  }
}

/** One exchange on the connection: undici's handler on one side, the exchange's controls on the other. */
class Rider implements Dispatcher.DispatchHandler {
  readonly kind: RequestKind;
  readonly #sink: AttemptSink;
  readonly #endpoint: Endpoint;
  readonly #socket: Duplex;
  readonly #connection: Http1Connection;
  readonly #bytesBefore: number;
  #controller: Dispatcher.DispatchController | undefined;
  #aborted: Error | undefined;
  #paused = false;
  #settled = false;
  /** The server said that it closes the connection after this response. */
  #last = false;

  constructor(
    sink: AttemptSink,
    kind: RequestKind,
    endpoint: Endpoint,
    socket: Duplex,
    connection: Http1Connection,
  ) {
    this.#sink = sink;
    this.kind = kind;
    this.#endpoint = endpoint;
    this.#socket = socket;
    this.#connection = connection;
    this.#bytesBefore = bytesWritten(socket);
  }

  abort(reason: Error): void {
    this.#aborted = reason;
    if (this.#controller !== undefined) {
      this.#controller.abort(reason);
    }
  }

  pause(): void {
    this.#paused = true;
    this.#controller?.pause();
  }

  /** Not at once: undici cannot parse for one connection from within what it parses for another. */
  resume(): void {
    this.#paused = false;
    queueMicrotask(() => {
      if (!this.#paused && !this.#settled) {
        this.#controller?.resume();
      }
    });
  }

  cut(error: TransportError): void {
    if (!this.#settled) {
      this.#settled = true;
      this.#sink.attemptFailed(error, false);
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#aborted !== undefined) {
      controller.abort(this.#aborted);
    } else if (this.#paused) {
      controller.pause();
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage = '',
  ): void {
    // 1xx other than 101 announce the response, they are not it (RFC 9110, section 15.2).
    if (statusCode >= 200) {
      const { connection } = headers;
      this.#last = connection !== undefined && /(?:^|,)\s*close\s*(?:,|$)/i.test(connection);
      this.#sink.responseStarted({
        statusCode,
        statusMessage,
        headers,
        rawHeaders: rawFields(controller.rawHeaders),
      });
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#sink.responseData(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    const { errored } = this.#socket;
    if (errored !== null) {
      // A body that ends with its connection: for undici a reset is such an end, but nobody knows what is missing.
      this.onResponseError(controller, errored);
      return;
    }
    this.#settled = true;
    if (this.#last) {
      // undici destroys the socket only after this call, and until then it looks as if it could be used again.
      queueMicrotask(() => this.#connection.left(this));
    } else {
      // Before the sink hears of it: what is sent in its answer then finds this connection free and opens no other.
      this.#connection.left(this);
    }
    this.#sink.responseEnded(rawFields(controller.rawTrailers));
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, cause: Error): void {
    if (!this.#settled) {
      this.#settled = true;
      const untouched = bytesWritten(this.#socket) === this.#bytesBefore;
      const failure = failureOf(cause, this.#endpoint, this.#sink.options.body);
      if (failure.code === 'ERR_RH_REQUEST_INVALID' && untouched) {
        this.#connection.left(this);
        this.#sink.attemptFailed(failure, true);
        return;
      }
      this.#socket.destroy();
      this.#sink.attemptFailed(failure, untouched);
    }
    this.#connection.left(this);
  }
}

/** For a duplex that is no socket there is nothing to do: it keeps no process alive. */
function call(socket: Duplex, method: 'ref' | 'unref'): void {
  const present: unknown = Reflect.get(socket, method);
  if (typeof present === 'function') {
    Reflect.apply(present, socket, []);
  }
}

/** A socket's counter includes what is still buffered, so an equal count means that nothing was even handed over. */
function bytesWritten(socket: Duplex): number {
  // Once: it is a getter that adds up what is buffered.
  const bytes: unknown = 'bytesWritten' in socket ? socket.bytesWritten : undefined;
  return typeof bytes === 'number' ? bytes : Number.NaN;
}
