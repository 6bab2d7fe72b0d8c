/**
 * HTTP/2 on one socket, over `node:http2` and not over undici, which joins repeated request fields into one. Streams
 * are counted here, per kind, so that long-running ones never take the last place of a session.
 */

import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { Readable, pipeline } from 'node:stream';
import type { Duplex } from 'node:stream';
import { util } from 'undici';
import type { Clock } from './clock.ts';
import { Connection } from './connection.ts';
import type { AttemptSink, ConnectionOwner } from './connection.ts';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import { bodyError, failureOf } from './failure.ts';
import { LentBody } from './lent-body.ts';
import type { RequestBody, RequestKind } from './request.ts';

/** What one stalled reader may hold of ours. */
const streamWindowBytes = 262_144;
/** Streams that we put on one session, however many the server allows: a lost session takes all of them along. */
const maxStreamsPerSession = 250;
/** Before the server's SETTINGS arrive: what RFC 9113, section 6.5.2, asks servers to allow at least. */
const initialStreams = 100;
/** The share of a session that long-running streams may take. */
const streamShare = 0.75;

export class Http2Connection extends Connection {
  readonly protocol = 'h2';
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #session: ClientHttp2Session;
  #maxStreams = initialStreams;
  #keepsAlive = true;

  constructor(socket: Duplex, endpoint: Endpoint, owner: ConnectionOwner, clock: Clock) {
    super(socket, owner, clock.now());
    this.#endpoint = endpoint;
    this.#clock = clock;
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
      session.setLocalWindowSize(streamWindowBytes * maxStreamsPerSession);
      this.#keepAlive();
    });
    session.on('remoteSettings', ({ maxConcurrentStreams }) => {
      this.#maxStreams = Math.min(maxConcurrentStreams ?? maxStreamsPerSession, maxStreamsPerSession);
      this.owner.connectionHasRoom(this);
    });
    session.on('goaway', () => this.retire());
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
      kind === 'unary' ? this.#maxStreams : Math.max(1, Math.floor(this.#maxStreams * streamShare));
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
      const fields = withoutPseudoFields(rawHeaders);
      sink.responseStarted({
        statusCode: statusOf(rawHeaders),
        statusMessage: '',
        headers: util.parseHeaders(fields),
        rawHeaders: fields,
      });
      // Not before: over a duplex that is no socket Node.js tells of data sooner than of the head.
      stream.on('data', (chunk: Buffer) => sink.responseData(chunk));
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
      this.release(kind, this.#clock.now());
      this.#keepAlive();
      const refused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && !started;
      // Without a number it has never been put on the wire.
      const untouched = refused || stream.id === undefined;
      // After the end of the response this falls on deaf ears.
      sink.attemptFailed(
        upload?.failure === undefined
          ? this.#lost(refused, stream.rstCode, failure)
          : bodyError(this.#endpoint.origin, upload.failure),
        untouched,
      );
    });
  }

  #lost(refused: boolean, code: number, cause: Error | undefined): TransportError {
    const { origin } = this.#endpoint;
    const details = cause === undefined ? {} : { cause };
    if (refused) {
      return new TransportError('ERR_RH_REFUSED', `${origin} refused the stream`, details);
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

  /** Says GOAWAY, and does not wait for the peer to close its side: it may never do so. */
  protected override end(): void {
    this.#session.destroy();
    this.socket.destroy();
  }

  protected override cut(error: TransportError): void {
    this.#session.destroy(error);
    this.socket.destroy();
  }

  #gone(): void {
    if (!this.#session.destroyed) {
      this.#session.destroy();
    }
    this.socket.destroy();
    this.markClosed();
  }
}

/** Returns what will tell whether the body was the one that failed, and not the stream under it. */
function sendBody(
  stream: ClientHttp2Stream,
  body: RequestBody,
): { readonly failure: Error | undefined } | undefined {
  if (!(body instanceof Readable)) {
    stream.end(body);
    return undefined;
  }
  const lent = new LentBody(body);
  const upload: { failure: Error | undefined } = { failure: undefined };
  const broken = (cause: Error): void => {
    if (!stream.destroyed && !stream.closed && !lent.readableEnded) {
      upload.failure ??= cause;
    }
  };
  // Before the pipeline hears of it and ends the other side, too.
  lent.once('error', broken);
  lent.once('close', () => broken(new Error('it was closed before its end')));
  // The stream's own 'close' reports the outcome; the pipeline only makes sure that each side ends the other.
  pipeline(lent, stream, () => undefined);
  return upload;
}

/**
 * Whether the peer has ended its side in good order (END_STREAM). Node.js pushes the end of the data for a reset, too,
 * also for one without an error code, but only after it has marked the stream as closed.
 */
function watchEnd(stream: ClientHttp2Stream): () => boolean {
  let ended = false;
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    ended ||= chunk === null && !stream.closed;
    return push(chunk, encoding);
  };
  return () => ended;
}

function statusOf(rawHeaders: readonly string[]): number {
  return Number(rawHeaders[rawHeaders.indexOf(':status') + 1]);
}

function withoutPseudoFields(rawHeaders: readonly string[]): string[] {
  const fields: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    const value = rawHeaders[index + 1];
    if (name !== undefined && value !== undefined && !name.startsWith(':')) {
      fields.push(name, value);
    }
  }
  return fields;
}
