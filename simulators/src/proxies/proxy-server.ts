/**
 * A proxy on the way to an upstream, HTTP CONNECT or SOCKS5, that remembers who asked it for what. It connects where it is told to,
 * or does whatever a test would rather see: refuse, say nonsense, say nothing.
 */

import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { ChangeSignal, type WaitOptions } from '../change-signal.ts';
import { secureContext, type RecordingTlsOptions } from '../recording-tls.ts';
import { connectProtocol } from './connect-protocol.ts';
import { ProxiedConnection, type ProxyTarget } from './proxied-connection.ts';
import type { ProxyProtocol, ProxyUser } from './proxy-protocol.ts';
import { socks5Protocol } from './socks5-protocol.ts';

export interface ProxyServerOptions {
  readonly protocol: 'http-connect' | 'socks5';
  /** TLS in front of HTTP CONNECT. */
  readonly tls?: RecordingTlsOptions;
  /** Whom it serves. Default: everybody. */
  readonly user?: ProxyUser;
  /** What is connected to for what was asked for. Default: just that. */
  readonly resolve?: (target: ProxyTarget) => { readonly host?: string; readonly port: number };
  /** Called for each connection whose request was read and whose user is served. Default: `connection.open()`. */
  readonly answer?: (connection: ProxiedConnection) => void;
  /** What the proxy itself says is written in pieces of this size. Default: at once. */
  readonly pieceBytes?: number;
  /** Default: a free one. */
  readonly port?: number;
}

export class ProxyServer implements AsyncDisposable {
  /** Every connection accepted, in order. */
  readonly connections: ProxiedConnection[] = [];
  /** May be replaced, for connections to come. */
  answer: (connection: ProxiedConnection) => void;
  readonly #options: ProxyServerOptions;
  readonly #server: net.Server;
  readonly #changes = new ChangeSignal();
  /** Bare sockets; each takes itself out as it closes. */
  readonly #sockets = new Set<Socket>();

  private constructor(options: ProxyServerOptions) {
    this.#options = options;
    this.answer = options.answer ?? ((connection) => void connection.open());
    const begin = (socket: Socket | TLSSocket): void => this.#begin(socket);
    this.#server =
      options.tls === undefined
        ? net.createServer({ noDelay: true }, begin)
        : tls.createServer(
            {
              ...secureContext(options.tls),
              requestCert: options.tls.requestClientCert ?? false,
              rejectUnauthorized: false,
            },
            begin,
          );
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#changes.notify();
      });
    });
    this.#server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy());
  }

  static async listen(options: ProxyServerOptions): Promise<ProxyServer> {
    const server = new ProxyServer(options);
    server.#server.listen({ host: '127.0.0.1', port: options.port ?? 0 });
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The proxy is closed');
    return address.port;
  }

  /** `http://127.0.0.1:41234`, with these credentials if any; SOCKS proxies are `socks5h://`. */
  url(user?: ProxyUser): string {
    const { protocol, tls: secure } = this.#options;
    const http = secure === undefined ? 'http' : 'https';
    const scheme = protocol === 'socks5' ? 'socks5h' : http;
    const name = [user?.username, user?.password].map((part) => encodeURIComponent(part ?? '')).join(':');
    return `${scheme}://${user === undefined ? '' : `${name}@`}127.0.0.1:${this.port}`;
  }

  /** TCP connections open now, however far they have come. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Tunnels that were opened so far. */
  get tunnels(): readonly ProxiedConnection[] {
    return this.connections.filter(({ opened }) => opened);
  }

  /** Of those, how many are open now. */
  get openTunnels(): number {
    return this.tunnels.filter(({ ended }) => !ended).length;
  }

  async waitForOpen(count: number, options?: WaitOptions): Promise<void> {
    await this.until(() => this.open === count, `${count} connections open`, options);
  }

  /** Looked at whenever a connection comes, changes or goes. */
  async until(holds: () => boolean, what: string, options?: WaitOptions): Promise<void> {
    const state = () => `${this.open} open, ${this.openTunnels} of ${this.tunnels.length} tunnels`;
    await this.#changes.until(holds, () => `${what}; there are ${state()}`, options);
  }

  /** Cuts every connection; the proxy goes on listening. */
  destroySockets(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.destroySockets();
    await closed;
    await Promise.all(this.connections.map((connection) => connection.closed));
    this.#changes.fail(new Error('The proxy was closed meanwhile'));
  }

  #begin(socket: Socket | TLSSocket): void {
    const { protocol, resolve = (target) => target, pieceBytes, user } = this.#options;
    const spoken: ProxyProtocol = protocol === 'socks5' ? socks5Protocol : connectProtocol;
    const connection = new ProxiedConnection(socket, {
      protocol: spoken,
      resolve,
      pieceBytes: pieceBytes ?? Number.POSITIVE_INFINITY,
      changed: () => this.#changes.notify(),
    });
    this.connections.push(connection);
    this.#changes.notify();
    void connection.read(user).then((served) => {
      if (served) this.answer(connection);
    });
  }
}
