/** A client of port-forwarding, over SPDY or over SPDY in a WebSocket, for tests: any number of connections in one session. */

import { readAll, type ByteSink, type ByteSource } from '../byte-pipe.ts';
import { portForwardProtocol, tunnelProtocol } from '../server/port-forward.ts';
import type { SocketConnection } from '../socket-connection.ts';
import { SpdySession } from '../spdy/session.ts';
import type { SpdyStream } from '../spdy/stream.ts';
import { WebSocketConnection } from '../websocket/connection.ts';
import { WebSocketTunnel } from '../websocket/tunnel.ts';
import { openUpgrade, type StreamTarget } from './open-upgrade.ts';
import { spdyAsk } from './spdy-command.ts';
import { webSocketAsk } from './websocket-command.ts';

export interface PortForwardRequest {
  readonly via: 'spdy' | 'websocket';
  /** Default: `default`. */
  readonly namespace?: string;
  readonly pod: string;
  /** Gives up before the answer. */
  readonly signal?: AbortSignal;
}

export class PortForwardClient implements AsyncDisposable {
  /** The connection below: byte counters, and ways to end it. */
  readonly connection: SocketConnection;
  readonly #session: SpdySession;
  #requests = 0;

  private constructor(connection: SocketConnection, session: SpdySession) {
    this.connection = connection;
    this.#session = session;
  }

  /** Rejects with UpgradeRefused, or with what is wrong with the connection. */
  static async open(target: StreamTarget, request: PortForwardRequest): Promise<PortForwardClient> {
    const { namespace = 'default', pod, via, signal } = request;
    const ask = via === 'spdy' ? spdyAsk([portForwardProtocol]) : webSocketAsk([tunnelProtocol]);
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/portforward`;
    const { connection } = await openUpgrade(target, {
      ...ask,
      path,
      ...(signal === undefined ? {} : { signal }),
    });
    const below =
      via === 'spdy'
        ? connection
        : new WebSocketTunnel(new WebSocketConnection(connection, 'client'), connection);
    const session = new SpdySession(below, { role: 'client' });
    // Its streams tell how it ended.
    session.run().catch(() => {});
    return new PortForwardClient(connection, session);
  }

  /** Streams that live: two for each connection. */
  get streams(): number {
    return this.#session.streams;
  }

  /** Rejects when the session is over. That nobody listens at the port is told by `failure`. */
  async connect(port: number): Promise<ForwardedConnection> {
    const requestid = String((this.#requests += 1) - 1);
    const fields = (streamtype: string): ReadonlyMap<string, string> =>
      new Map([
        ['streamtype', streamtype],
        ['port', String(port)],
        ['requestid', requestid],
      ]);
    const error = await this.#session.open(fields('error'));
    await error.end();
    return new ForwardedConnection(await this.#session.open(fields('data')), error);
  }

  /** Resolves when it has come back. */
  async ping(): Promise<void> {
    await this.#session.ping();
  }

  /** Ends the session as kubectl does, without a word; cuts the connection when the server does not do the same in time. */
  async close({ timeoutMs = 5000 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    this.connection.end();
    const limit = setTimeout(() => this.connection.destroy(), timeoutMs);
    await this.connection.closed;
    clearTimeout(limit);
  }

  /** Cuts the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.destroy();
    await this.connection.closed;
  }
}

export class ForwardedConnection implements ByteSource, ByteSink {
  /** What the server says of it, when it is over; empty when nothing went wrong. Rejects when the session was cut. */
  readonly failure: Promise<string>;
  readonly #data: SpdyStream;

  constructor(data: SpdyStream, error: SpdyStream) {
    this.#data = data;
    this.failure = readAll(error).then((text) => text.toString());
    this.failure.catch(() => {});
  }

  async read(): Promise<Buffer | undefined> {
    return this.#data.read();
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#data.write(bytes);
  }

  /** Half-closes it. */
  async end(): Promise<void> {
    await this.#data.end();
  }

  /** Gives it up, as a reset of the local connection does. */
  async reset(): Promise<void> {
    await this.#data.reset();
  }
}
