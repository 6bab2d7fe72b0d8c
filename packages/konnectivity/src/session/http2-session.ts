/** gRPC's one method that is needed, over `node:http2`: a session, and its streams of messages. */

import { connect, constants } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { TunnelError, wordsOf } from '../errors.ts';
import { serverError } from './connect-server.ts';
import { Http2PacketStream } from './http2-packet-stream.ts';
import type {
  PacketSession,
  PacketSessionEvents,
  PacketStream,
  PacketStreamHandler,
} from './packet-stream.ts';

export interface Http2SessionOptions {
  /** Of the proxy-server, for messages. */
  readonly server: string;
  /** `https://host:port`; what the server sees as scheme and authority. */
  readonly origin: string;
  readonly windowBytes: number;
}

/** MB that a session may hold. What bounds it are the windows and the number of tunnels; Node's default of 10 would cut sessions. */
const maxSessionMemory = 4_096;
/** The connection's own window: what may be under way for all tunnels together. */
const sessionWindowBytes = 16 * 1_048_576;

const requestFields = {
  [constants.HTTP2_HEADER_METHOD]: 'POST',
  [constants.HTTP2_HEADER_PATH]: '/ProxyService/Proxy',
  [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
  [constants.HTTP2_HEADER_TE]: 'trailers',
  [constants.HTTP2_HEADER_USER_AGENT]: 'roundhouse-konnectivity',
};

export class Http2Session implements PacketSession {
  readonly #session: ClientHttp2Session;
  readonly #server: string;
  #cause: Error | undefined;
  #goaway: string | undefined;

  private constructor(session: ClientHttp2Session, server: string) {
    this.#session = session;
    this.#server = server;
  }

  /**
   * Ready when the server has sent its SETTINGS: with TLS 1.3 that it takes our certificate is known only then. It owns `socket`.
   *
   * @throws ERR_RH_TUNNEL_SERVER, ERR_RH_TUNNEL_UNTRUSTED, and the signal's reason
   */
  static async open(
    socket: Socket,
    { server, origin, windowBytes }: Http2SessionOptions,
    events: PacketSessionEvents,
    signal: AbortSignal,
  ): Promise<Http2Session> {
    const session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: windowBytes },
      maxSessionMemory,
    });
    const own = new Http2Session(session, server);
    const failed = Promise.withResolvers<never>();
    session.on('error', (cause: Error) => {
      own.#cause ??= cause;
    });
    // An alert of TLS (our certificate is refused) reaches the socket only: `node:http2` neither says so nor ends its session.
    socket.on('error', (cause: Error) => {
      own.#cause ??= cause;
      failed.reject(serverError(server, cause));
      session.destroy();
    });
    failed.promise.catch(() => undefined);
    session.once('goaway', (code: number, _lastStream: number, data?: Buffer) => {
      own.#goaway = wordsOf(`GOAWAY with ${goawayName(code)} ${data?.toString('latin1') ?? ''}`);
      events.onDraining(own.#goaway);
    });
    const onClose = (): void =>
      failed.reject(
        serverError(server, own.#cause ?? new Error('it ended the connection before its settings')),
      );
    session.once('close', onClose);
    // A session does not always tell of a socket that ends before the server has said anything.
    socket.once('end', onClose).once('close', onClose);
    const ready = Promise.withResolvers<void>();
    const onAbort = (): void => failed.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    session.once('remoteSettings', () => ready.resolve());
    try {
      if (signal.aborted) {
        onAbort();
      }
      await Promise.race([ready.promise, failed.promise]);
    } catch (error) {
      session.destroy();
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      session.off('close', onClose);
      socket.off('end', onClose).off('close', onClose);
    }
    if (session.destroyed) {
      throw serverError(server, own.#cause ?? new Error('it ended the session at once'));
    }
    session.setLocalWindowSize(Math.max(sessionWindowBytes, 2 * windowBytes));
    session.once('close', () => events.onClosed());
    return own;
  }

  get maxStreams(): number {
    return this.#session.remoteSettings?.maxConcurrentStreams ?? Number.MAX_SAFE_INTEGER;
  }

  open(handler: PacketStreamHandler): PacketStream {
    try {
      const stream = this.#session.request(requestFields, { endStream: false });
      return new Http2PacketStream(stream, handler, () => this.#lost());
    } catch (cause) {
      throw new TunnelError(
        'ERR_RH_TUNNEL_SERVER',
        `the session with the proxy-server ${this.#server} takes no new tunnel`,
        { cause, reason: 'streamsetup' },
      );
    }
  }

  ping(answered: () => void): void {
    try {
      this.#session.ping((error: Error | null) => {
        if (error === null) {
          answered();
        }
      });
    } catch {
      // It is closing: then its end is on the way, and nobody needs the answer.
    }
  }

  close(): void {
    this.#session.close();
  }

  destroy(cause: Error): void {
    this.#cause ??= cause;
    this.#session.destroy();
  }

  /** Why streams end that the server has not ended; undefined while the session lives. */
  #lost(): Error | undefined {
    if (!this.#session.destroyed && !this.#session.closed) {
      return undefined;
    }
    return this.#goaway === undefined
      ? this.#cause
      : new Error(`the proxy-server ended the session: ${this.#goaway}`, { cause: this.#cause });
  }
}

/** RFC 9113, section 7. */
function goawayName(code: number): string {
  const name = Object.entries(constants).find(
    ([key, value]) =>
      value === code &&
      /^NGHTTP2_(?:NO_ERROR|[A-Z_]+_ERROR|ENHANCE_YOUR_CALM|CANCEL|REFUSED_STREAM|INADEQUATE_SECURITY)$/.test(
        key,
      ),
  )?.[0];
  return name?.slice('NGHTTP2_'.length) ?? String(code);
}
