/**
 * The connections of the front, so that they can be ended in order: those that are idle close, after a moment in which a
 * request that is already on its way may still arrive; HTTP/2 says GOAWAY; the others end with what they carry.
 */

import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

interface Http1Connection {
  active: number;
  idleSince: number;
  /** Waits for `active` to become 0. */
  next: (() => void) | undefined;
}

interface Http2Connection {
  streams: number;
  idleSince: number;
}

/** The TCP connection of a socket. */
export interface SocketBelow {
  /** Ends it in a way that its client does not take for a good end: with RST. */
  reset(): void;
  /** Closes it when its client has sent RST, which nobody notices of a socket that is not read. */
  look(): void;
}

const nothing = Buffer.alloc(0);

/** A connection that was used within this time may have a request on its way: it is given as much time again. */
const recentMs = 1_000;
const sweepMs = 200;

export class FrontConnections implements Disposable {
  readonly #idleTimeoutMs: number;
  /** All sockets, before and after TLS; each takes itself out as it closes. */
  readonly #sockets = new Set<Socket>();
  /** Bare sockets by their other end, so that they are found for the TLS that is over them. Leave as they close. */
  readonly #byPeer = new Map<string, Socket>();
  readonly #http1 = new Map<Socket, Http1Connection>();
  readonly #http2 = new Map<ServerHttp2Session, Http2Connection>();
  #draining = false;
  readonly #idleSweep: NodeJS.Timeout;
  #drainSweep: NodeJS.Timeout | undefined;
  #drained: (() => void) | undefined;

  constructor(idleTimeoutMs: number) {
    this.#idleTimeoutMs = idleTimeoutMs;
    // HTTP/1.1 has Node's own idle timer; a session has none that spares its open streams.
    this.#idleSweep = setInterval(() => this.#closeIdleSessions(), Math.min(idleTimeoutMs, 15_000));
    this.#idleSweep.unref();
  }

  /** Whether answers from now on are the last ones of their connections. */
  get draining(): boolean {
    return this.#draining;
  }

  get size(): number {
    return this.#sockets.size;
  }

  socketOpened(socket: Socket): void {
    const peer = peerOf(socket);
    this.#sockets.add(socket);
    this.#byPeer.set(peer, socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      // A new connection may have the same other end by now.
      if (this.#byPeer.get(peer) === socket) {
        this.#byPeer.delete(peer);
      }
      this.#checkDrained();
    });
  }

  /** A socket on which HTTP/1.1 is spoken. */
  http1Opened(socket: Socket): void {
    this.#http1.set(socket, { active: 0, idleSince: performance.now(), next: undefined });
    socket.once('close', () => this.#http1.delete(socket));
  }

  requestStarted(socket: Socket): void {
    const connection = this.#http1.get(socket);
    if (connection !== undefined) {
      connection.active += 1;
    }
  }

  requestEnded(socket: Socket): void {
    const connection = this.#http1.get(socket);
    if (connection !== undefined) {
      connection.active -= 1;
      connection.idleSince = performance.now();
      if (connection.active === 0) {
        const { next } = connection;
        connection.next = undefined;
        next?.();
      }
    }
  }

  /** Calls back when no request is under way on it: at once, or later; not when it is closed before. Once a connection. */
  whenAnswered(socket: Socket, callback: () => void): void {
    const connection = this.#http1.get(socket);
    if (connection === undefined || connection.active === 0) {
      callback();
    } else {
      connection.next = callback;
    }
  }

  sessionOpened(session: ServerHttp2Session): void {
    const connection: Http2Connection = { streams: 0, idleSince: performance.now() };
    this.#http2.set(session, connection);
    session.once('close', () => this.#http2.delete(session));
    session.on('error', () => undefined);
    session.on('stream', (stream: ServerHttp2Stream) => {
      connection.streams += 1;
      stream.once('close', () => {
        connection.streams -= 1;
        connection.idleSince = performance.now();
      });
    });
  }

  /** What TLS would hide of the connection, if it is over it. */
  below(socket: Socket): SocketBelow {
    const bare = this.#byPeer.get(peerOf(socket));
    // After a FIN the operating system sends no RST for us, and Node.js would lose the descriptor over the attempt.
    const open = (): boolean => bare?.destroyed === false && !socket.writableEnded;
    return {
      reset: () => {
        if (open()) {
          bare?.resetAndDestroy();
        }
        socket.destroy();
      },
      look: () => {
        if (open() && socket.writableLength === 0) {
          // Nothing goes out, but the operating system says whether anything could.
          bare?.write(nothing);
        }
      },
    };
  }

  /** Resolves when the last connection is gone. */
  drain(): Promise<void> {
    this.#draining = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    for (const session of this.#http2.keys()) {
      // A session that its client has just ended is told nothing any more.
      if (!session.destroyed && !session.closed) {
        // The highest id first: what is on its way is still served (RFC 9113, section 6.8).
        session.goaway(0, 2 ** 31 - 1);
      }
    }
    const startedAt = performance.now();
    this.#drainSweep = setInterval(() => this.#endIdle(startedAt), sweepMs);
    this.#endIdle(startedAt);
    this.#checkDrained();
    return promise;
  }

  /** Cuts everything. */
  destroy(): void {
    for (const session of this.#http2.keys()) {
      session.destroy();
    }
    for (const socket of this.#sockets) {
      socket.destroy();
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#idleSweep);
    clearInterval(this.#drainSweep);
    this.destroy();
  }

  #endIdle(startedAt: number): void {
    const now = performance.now();
    const quiet = (idleSince: number): boolean =>
      startedAt - idleSince > recentMs || now - Math.max(idleSince, startedAt) > recentMs;
    for (const [socket, { active, idleSince }] of this.#http1) {
      if (active === 0 && quiet(idleSince)) {
        endIdleSocket(socket);
      }
    }
    for (const [session, { streams, idleSince }] of this.#http2) {
      if (streams === 0 && quiet(idleSince)) {
        endSession(session);
      }
    }
  }

  #closeIdleSessions(): void {
    const before = performance.now() - this.#idleTimeoutMs;
    for (const [session, { streams, idleSince }] of this.#http2) {
      if (streams === 0 && idleSince < before) {
        endSession(session);
      }
    }
  }

  #checkDrained(): void {
    if (this.#draining && this.#sockets.size === 0) {
      clearInterval(this.#drainSweep);
      this.#drained?.();
    }
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** In order at first. */
function endIdleSocket(socket: Socket): void {
  if (socket.writableEnded) {
    socket.destroy();
  } else {
    socket.end();
    socket.destroySoon();
  }
}

/** In order at first. One that is there at the next look has half a head under way, which a client may never finish. */
function endSession(session: ServerHttp2Session): void {
  if (session.closed) {
    session.destroy();
  } else {
    session.close();
  }
}
