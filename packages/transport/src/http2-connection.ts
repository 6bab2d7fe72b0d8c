/**
 * HTTP/2 on one socket, over `node:http2` and not over undici, which joins repeated request fields into one. Streams
 * are counted here, per kind, so that long-running ones never take the last place of a session.
 */

import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { util } from 'undici';
import type { Clock } from './clock.ts';
import { Connection } from './connection.ts';
import type { AttemptSink, ConnectionOwner } from './connection.ts';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import { bodyError, failureOf } from './failure.ts';
import { Http2Liveness } from './http2-liveness.ts';
import { sendBody, statusOf, watchEnd, withoutPseudoFields } from './http2-stream.ts';
import type { Limits } from './limits.ts';
import type { RequestKind } from './request.ts';

/** What one stalled reader may hold of ours. */
const streamWindowBytes = 262_144;
/** What the protocol can count to (RFC 9113, section 6.9.1). */
const longestWindowBytes = 2 ** 31 - 1;
/** Before the server's SETTINGS arrive: what RFC 9113, section 6.5.2, asks servers to allow at least. */
const initialStreams = 100;

/**
 * What has become of a stream that ended before its response began. `refused`: not looked at, by the server's word. `wrong
 * protocol`: it agreed to HTTP/2 in the handshake and wants none of it; what it did with the request, it does not say.
 */
type StreamFate = 'never sent' | 'refused' | 'wrong protocol' | 'lost';

export interface Http2ConnectionOptions {
  readonly clock: Clock;
  readonly limits: Limits;
  /** The share of its places that long-running streams may take. */
  readonly streamShare: number;
}

export class Http2Connection extends Connection {
  readonly protocol = 'h2';
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #session: ClientHttp2Session;
  readonly #liveness: Http2Liveness;
  readonly #streamShare: number;
  #maxStreams: number;
  #keepsAlive = true;
  /** Whether the server has sent what every HTTP/2 server sends first, its SETTINGS. */
  #greeted = false;
  /** Streams beyond that one were not looked at, by the server's own word. */
  #lastStream = Number.POSITIVE_INFINITY;
  #isRefused = false;
  /** Whether it is we who end it. */
  #givenUp = false;

  constructor(
    socket: Duplex,
    endpoint: Endpoint,
    owner: ConnectionOwner,
    { clock, limits, streamShare }: Http2ConnectionOptions,
  ) {
    super(socket, owner, clock.now());
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#streamShare = streamShare;
    const { maxStreamsPerConnection, pingTimeoutMs } = limits;
    this.#maxStreams = Math.min(initialStreams, maxStreamsPerConnection);
    this.#liveness = new Http2Liveness(clock, limits, {
      ping: (answered) => this.#ping(answered),
      lost: () => this.#lostTouch(pingTimeoutMs),
    });
    const session = connect(endpoint.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
    });
    this.#session = session;
    session.once('connect', () => {
      // Node.js tells this also when it was closed before it could be told.
      if (session.destroyed) {
        return;
      }
      // The default of 64 KiB for all streams together would make each of them slow on a long way.
      session.setLocalWindowSize(Math.min(streamWindowBytes * maxStreamsPerConnection, longestWindowBytes));
      this.#keepAlive();
    });
    session.on('remoteSettings', ({ maxConcurrentStreams }) => {
      this.#greeted = true;
      this.#liveness.heard();
      this.#maxStreams = Math.min(maxConcurrentStreams ?? maxStreamsPerConnection, maxStreamsPerConnection);
      this.owner.connectionHasRoom(this);
    });
    session.on('goaway', (code, lastStream) => {
      this.#lastStream = lastStream;
      if (code === constants.NGHTTP2_HTTP_1_1_REQUIRED) {
        this.#refused();
      }
      this.retire();
    });
    session.on('ping', () => this.#liveness.heard());
    // Each stream reports for itself, and 'close' follows.
    session.on('error', () => undefined);
    session.once('close', () => this.#gone());
    socket.once('close', () => this.#gone());
  }

  protected override admits(kind: RequestKind): boolean {
    if (this.#session.closed || this.#session.destroyed) {
      return false;
    }
    const budget =
      kind === 'unary' ? this.#maxStreams : Math.max(1, Math.floor(this.#maxStreams * this.#streamShare));
    return this.riding < this.#maxStreams && (kind === 'unary' || this.ridingOf('stream') < budget);
  }

  protected override write(sink: AttemptSink, kind: RequestKind): void {
    const { body } = sink.options;
    const hasBody = body !== undefined && body !== null && !(typeof body === 'string' && body === '');
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(this.#fields(sink), { endStream: !hasBody });
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      this.release(kind, this.#clock.now());
      const lost = this.#session.closed || this.#session.destroyed;
      sink.attemptFailed(
        lost
          ? new TransportError(
              'ERR_RH_CONNECTION_LOST',
              `the session with ${this.#endpoint.origin} is gone`,
              { cause },
            )
          : failureOf(error, this.#endpoint, body),
        true,
      );
      return;
    }
    this.#keepAlive();
    this.#liveness.watch();
    const upload = hasBody ? sendBody(stream, body) : undefined;
    this.#follow(stream, sink, kind, upload);
  }

  #fields(sink: AttemptSink): string[] {
    const { method, path, headers } = sink.options;
    let authority = this.#endpoint.authority;
    const fields: string[] = [];
    for (let index = 0; index + 1 < headers.length; index += 2) {
      const name = (headers[index] ?? '').toLowerCase();
      const value = headers[index + 1] ?? '';
      if (name === 'host') {
        authority = value;
      } else {
        fields.push(name, value);
      }
    }
    return [
      ':method',
      method,
      ':scheme',
      this.#endpoint.scheme,
      ':authority',
      authority,
      ':path',
      path,
      ...fields,
    ];
  }

  #follow(
    stream: ClientHttp2Stream,
    sink: AttemptSink,
    kind: RequestKind,
    upload: { readonly failure: Error | undefined } | undefined,
  ): void {
    let trailers: string[] = [];
    let started = false;
    let paused = false;
    let failure: Error | undefined;
    const hasEnded = watchEnd(stream);
    sink.attach({
      abort: (reason) => {
        failure ??= reason;
        stream.close(constants.NGHTTP2_CANCEL);
        // It closes when its data have been read, and nobody else reads them any more.
        stream.resume();
      },
      pause: () => {
        paused = true;
        stream.pause();
      },
      resume: () => {
        paused = false;
        if (started) {
          stream.resume();
        }
      },
    });
    stream.on('response', (_headers, _flags, rawHeaders: string[]) => {
      started = true;
      this.#liveness.heard();
      const fields = withoutPseudoFields(rawHeaders);
      sink.responseStarted({
        statusCode: statusOf(rawHeaders),
        statusMessage: '',
        headers: util.parseHeaders(fields),
        rawHeaders: fields,
      });
      // Not before: over a duplex that is no socket Node.js tells of data sooner than of the head.
      stream.on('data', (chunk: Buffer) => {
        this.#liveness.heard();
        sink.responseData(chunk);
      });
      if (!paused) {
        stream.resume();
      }
    });
    stream.on('trailers', (_headers, _flags, rawTrailers: string[]) => {
      trailers = withoutPseudoFields(rawTrailers);
    });
    stream.on('end', () => {
      if (!started || !hasEnded()) {
        return;
      }
      sink.responseEnded(trailers);
      if (!stream.writableFinished) {
        // The answer is there before the request is: nobody needs the rest of that.
        stream.close(constants.NGHTTP2_CANCEL);
      }
    });
    stream.on('error', (error) => {
      failure ??= error;
    });
    stream.once('close', () => {
      const fate = started ? 'lost' : this.#fateOf(stream);
      if (fate === 'wrong protocol') {
        this.#refused();
      }
      this.release(kind, this.#clock.now());
      this.#keepAlive();
      if (this.riding === 0) {
        this.#liveness.rest();
      }
      // After the end of the response this falls on deaf ears.
      sink.attemptFailed(
        upload?.failure === undefined
          ? this.#errorOf(fate, stream, failure)
          : bodyError(this.#endpoint.origin, upload.failure),
        fate === 'refused' || fate === 'never sent',
      );
    });
  }

  #fateOf({ id, rstCode }: ClientHttp2Stream): StreamFate {
    if (id === undefined) {
      return 'never sent';
    }
    if (rstCode === constants.NGHTTP2_REFUSED_STREAM || id > this.#lastStream) {
      return 'refused';
    }
    const neverSpoke = !this.#greeted && !this.#givenUp && this.#session.destroyed;
    return rstCode === constants.NGHTTP2_HTTP_1_1_REQUIRED || neverSpoke ? 'wrong protocol' : 'lost';
  }

  #errorOf(fate: StreamFate, { rstCode: code }: ClientHttp2Stream, cause: Error | undefined): TransportError {
    const { origin } = this.#endpoint;
    const details = cause === undefined ? {} : { cause };
    if (fate === 'refused') {
      return new TransportError('ERR_RH_REFUSED', `${origin} refused the stream`, details);
    }
    if (fate === 'wrong protocol') {
      return new TransportError('ERR_RH_PROTOCOL_REFUSED', `${origin} does not speak HTTP/2`, details);
    }
    if (cause instanceof TransportError) {
      return cause;
    }
    const why =
      code === constants.NGHTTP2_NO_ERROR ? (cause?.message ?? 'it was broken off') : `HTTP/2 error ${code}`;
    return new TransportError(
      'ERR_RH_CONNECTION_LOST',
      `the stream to ${origin} ended early: ${why}`,
      details,
    );
  }

  /** An idle session must not keep the process alive, and what rides on it must. */
  #keepAlive(): void {
    const wanted = this.riding > 0;
    // A socket without a handle takes `ref` as a wish for when it connects, and collects listeners.
    if (wanted === this.#keepsAlive || this.socket.destroyed) {
      return;
    }
    this.#keepsAlive = wanted;
    if (wanted) {
      this.#session.ref();
    } else {
      this.#session.unref();
    }
  }

  /** Told before anybody asks for a connection again, and once. */
  #refused(): void {
    if (!this.#isRefused) {
      this.#isRefused = true;
      this.owner.http2Refused();
      this.retire();
    }
  }

  #ping(answered: () => void): void {
    if (!this.#session.destroyed) {
      this.#session.ping((error) => {
        if (error === null) {
          answered();
        }
      });
    }
  }

  #lostTouch(pingTimeoutMs: number): void {
    const { origin } = this.#endpoint;
    this.owner.pingUnanswered();
    this.#break(
      new TransportError(
        'ERR_RH_CONNECTION_LOST',
        `${origin} has not answered a PING for ${pingTimeoutMs} ms`,
      ),
    );
  }

  /** Says GOAWAY, and does not wait for the peer to close its side: it may never do so. */
  protected override end(): void {
    this.#givenUp = true;
    this.#session.destroy();
    this.socket.destroy();
  }

  protected override cut(error: TransportError): void {
    this.#givenUp = true;
    this.#break(error);
  }

  #break(error: TransportError): void {
    this.#session.destroy(error);
    this.socket.destroy();
  }

  #gone(): void {
    this.#liveness.rest();
    if (!this.#session.destroyed) {
      this.#session.destroy();
    }
    this.socket.destroy();
    this.markClosed();
  }
}
