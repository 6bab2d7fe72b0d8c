/**
 * A konnectivity proxy-server with its agents, in this process: gRPC over TLS or over a Unix socket. It does what a real one does that is
 * known in its source, and on demand what a sick one does: no agent, errors, silence, closes that are not told, GOAWAY.
 */

import { once } from 'node:events';
import http2, { type Http2Server, type ServerHttp2Session } from 'node:http2';
import { ChangeSignal, type WaitOptions } from '../change-signal.ts';
import type { CertificateAuthority } from '../certificate-authority.ts';
import { SimulatedTunnel, type TunnelBehaviour } from './simulated-tunnel.ts';

export interface KonnectivityServerOptions {
  /** TLS with certificates of this authority, ours and clients'. Without it there is a Unix socket and no TLS. */
  readonly authority?: CertificateAuthority;
  /** Path of the Unix socket. */
  readonly path?: string;
  /** Hosts that an agent answers for, and where it connects to for them. */
  readonly agents?: Readonly<Record<string, { readonly host?: string; readonly port: number }>>;
}

export class KonnectivityServer implements AsyncDisposable {
  readonly tunnels: SimulatedTunnel[] = [];
  /** May be changed at any time, for what comes then. */
  behaviour: TunnelBehaviour = {};
  agents: NonNullable<KonnectivityServerOptions['agents']>;
  /** Sessions accepted so far. */
  accepted = 0;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #changes = new ChangeSignal();
  readonly #path: string | undefined;
  #lastId = 0n;

  private constructor(server: Http2Server, options: KonnectivityServerOptions) {
    this.#server = server;
    this.#path = options.path;
    this.agents = options.agents ?? {};
    server.on('session', (session) => {
      this.accepted += 1;
      this.#sessions.add(session);
      session.on('error', () => undefined);
      session.once('close', () => {
        this.#sessions.delete(session);
        this.#changes.notify();
      });
      this.#changes.notify();
    });
    server.on('sessionError', () => undefined);
    server.on('stream', (stream, fields) => {
      if (fields[':path'] !== '/ProxyService/Proxy') {
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
          { endStream: true },
        );
        return;
      }
      this.tunnels.push(
        new SimulatedTunnel(stream, {
          behaviour: () => this.behaviour,
          resolve: (address) => this.agents[address.slice(0, address.lastIndexOf(':'))],
          nextId: () => (this.#lastId += 1n),
          changed: () => this.#changes.notify(),
        }),
      );
    });
  }

  static async listen(options: KonnectivityServerOptions = {}): Promise<KonnectivityServer> {
    const { authority, path } = options;
    const certificate = await authority?.issue({ commonName: 'proxy-server', usage: 'server' });
    const raw =
      authority === undefined || certificate === undefined
        ? http2.createServer()
        : http2.createSecureServer({
            cert: certificate.certPem,
            key: certificate.keyPem,
            ca: authority.certificatePem,
            requestCert: true,
            rejectUnauthorized: true,
          });
    const server = new KonnectivityServer(raw, options);
    raw.listen(path === undefined ? { host: '127.0.0.1', port: 0 } : { path });
    await once(raw, 'listening');
    return server;
  }

  /** For clients: `127.0.0.1:port`, or `unix:/path`. */
  get address(): string {
    const address = this.#server.address();
    if (this.#path !== undefined) return `unix:${this.#path}`;
    if (address === null || typeof address === 'string') throw new Error('The server is closed');
    return `127.0.0.1:${address.port}`;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** Streams that have not ended on both sides. */
  get open(): number {
    return this.tunnels.filter(({ closed }) => !closed).length;
  }

  /** The newest. */
  get tunnel(): SimulatedTunnel {
    const tunnel = this.tunnels.at(-1);
    if (tunnel === undefined) throw new Error('There is no tunnel yet');
    return tunnel;
  }

  async until(holds: () => boolean, what: string, options?: WaitOptions): Promise<void> {
    return this.#changes.until(holds, () => what, options);
  }

  /** @param code NO_ERROR is 0, ENHANCE_YOUR_CALM 11 */
  goaway(code = 0, text = ''): void {
    for (const session of this.#sessions) session.goaway(code, 2 ** 31 - 1, Buffer.from(text));
  }

  /** Cuts what is there; goes on listening. */
  kill(): void {
    for (const session of this.#sessions) session.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.kill();
    await closed;
  }
}
