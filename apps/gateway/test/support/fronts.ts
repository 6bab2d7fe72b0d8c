/** The ways in which a client can open a session: over plain HTTP, over TLS, and as a stream of HTTP/2. */

import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { authority } from './gateway-rig.ts';
import type { RigOptions } from './gateway-rig.ts';
import { Http2SessionClient } from './http2-session-client.ts';
import type { Http2SessionRequest } from './http2-session-client.ts';
import { SessionClient } from './session-client.ts';

export type Front = 'plain HTTP' | 'TLS' | 'HTTP/2';

export const fronts = ['plain HTTP', 'TLS', 'HTTP/2'] as const;

const token = 'good';

/** Of a gateway that has this front. */
export function frontOptions(front: Front): RigOptions {
  return front === 'plain HTTP' ? {} : { tls: true, tokens: [`${token},joe,uid-1,dev`] };
}

/** What the clients have in common. */
export type AnySession = SessionClient | Http2SessionClient;

export interface AnyRequest {
  readonly path: string;
  readonly early?: string;
}

/** Opens sessions by one front; those over HTTP/2 share one connection of TLS, the others have their own. */
export class FrontClients implements AsyncDisposable {
  readonly #base: string;
  readonly #front: Front;
  readonly #sessions: AnySession[] = [];
  #http2: Promise<ClientHttp2Session> | undefined;
  #bare: Socket | undefined;

  constructor(base: string, front: Front) {
    this.#base = base;
    this.#front = front;
  }

  /** WebSockets, since that is what all fronts can do. */
  async open({ path, early = '' }: AnyRequest): Promise<AnySession> {
    const session =
      this.#front === 'HTTP/2'
        ? new Http2SessionClient(await this.http2(), {
            path,
            early,
            fields: { authorization: `Bearer ${token}` },
          })
        : await SessionClient.open(this.#base, {
            path,
            early,
            protocol: 'websocket',
            fields: this.#front === 'TLS' ? [`Authorization: Bearer ${token}`] : [],
          });
    this.#sessions.push(session);
    return session;
  }

  /** A stream of HTTP/2 with nothing but these fields of who is calling. */
  async openHttp2(request: Http2SessionRequest): Promise<Http2SessionClient> {
    const session = new Http2SessionClient(await this.http2(), request);
    this.#sessions.push(session);
    return session;
  }

  /** The connection that streams of HTTP/2 share. */
  http2(): Promise<ClientHttp2Session> {
    this.#http2 ??= this.#dialHttp2();
    return this.#http2;
  }

  /** RST to the connection that streams of HTTP/2 share. */
  resetHttp2(): void {
    this.#bare?.resetAndDestroy();
  }

  /** FIN to it. */
  endHttp2(): void {
    this.#bare?.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session[Symbol.dispose]();
    const session = await this.#http2;
    if (session?.destroyed === false) {
      const closed = once(session, 'close');
      session.destroy();
      await closed;
    }
  }

  async #dialHttp2(): Promise<ClientHttp2Session> {
    const { hostname, port } = new URL(this.#base);
    const bare = connectTcp(Number(port), hostname);
    this.#bare = bare;
    const socket = connectTls({
      socket: bare,
      ca: authority.certificatePem,
      servername: 'localhost',
      ALPNProtocols: ['h2'],
    });
    await once(socket, 'secureConnect');
    const session = connectHttp2(this.#base, { createConnection: () => socket });
    session.on('error', () => undefined);
    // Extended CONNECT may be used once the server says so (RFC 8441, section 3).
    await once(session, 'remoteSettings');
    return session;
  }
}
