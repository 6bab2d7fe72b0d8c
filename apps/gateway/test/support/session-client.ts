/** A client that asks for an upgrade and then sends and receives bytes as they are. One connection each. */

import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { authority } from './gateway-rig.ts';

export interface SessionRequest {
  readonly method?: string;
  readonly path?: string;
  /** `Upgrade` and what belongs to it are written before them, lines without their end. */
  readonly fields?: readonly string[];
  readonly protocol?: 'SPDY/3.1' | 'websocket';
  /** Written along with the request. */
  readonly early?: string;
  /** A certificate to show. */
  readonly credentials?: { readonly cert?: string; readonly key?: string };
}

export const execPath = '/clusters/alpha/api/v1/namespaces/web/pods/p/exec?command=ls';
/** The key of RFC 6455, section 1.3. */
const webSocketKey = 'dGhlIHNhbXBsZSBub25jZQ==';

const fieldsOf = {
  'SPDY/3.1': ['Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io', 'Content-Length: 0'],
  websocket: [
    'Upgrade: websocket',
    `Sec-WebSocket-Key: ${webSocketKey}`,
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io',
  ],
} as const;

/** What a client writes to ask for an upgrade. */
export function sessionHead(base: string, request: SessionRequest = {}): string {
  const { protocol = 'SPDY/3.1', path = execPath, fields = [] } = request;
  const { method = protocol === 'SPDY/3.1' ? 'POST' : 'GET' } = request;
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${new URL(base).host}`, 'Connection: Upgrade'];
  return `${[...lines, ...fieldsOf[protocol], ...fields].join('\r\n')}\r\n\r\n`;
}

export class SessionClient implements Disposable {
  readonly socket: Socket;
  readonly #bare: Socket;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #closed = false;
  #error: Error | undefined;
  /** Those who wait for something. */
  readonly #looking = new Set<() => void>();

  private constructor(socket: Socket, bare: Socket) {
    this.socket = socket;
    this.#bare = bare;
    socket.allowHalfOpen = true;
    const changed = (): void => {
      for (const look of this.#looking) look();
    };
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      changed();
    });
    socket.once('end', () => {
      this.#ended = true;
      changed();
    });
    socket.once('error', (error) => {
      this.#error = error;
    });
    socket.once('close', () => {
      this.#closed = true;
      changed();
    });
  }

  static async open(base: string, request: SessionRequest = {}): Promise<SessionClient> {
    const client = await SessionClient.dial(base, request.credentials);
    client.write(sessionHead(base, request) + (request.early ?? ''));
    return client;
  }

  /** Has asked for nothing yet. */
  static async dial(base: string, credentials: SessionRequest['credentials'] = {}): Promise<SessionClient> {
    const { hostname, port, protocol } = new URL(base);
    const bare = connectTcp({ port: Number(port), host: hostname, allowHalfOpen: true });
    bare.on('error', () => undefined);
    const secure = protocol === 'https:';
    const ca = authority.certificatePem;
    const socket = secure ? connectTls({ socket: bare, ca, servername: 'localhost', ...credentials }) : bare;
    await once(socket, secure ? 'secureConnect' : 'connect');
    return new SessionClient(socket, bare);
  }

  /** Strings as latin1. */
  write(bytes: string | Buffer): boolean {
    return this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** Ends our direction in good order. */
  end(): void {
    // Not within the event of what came: Node.js would lose what has already come behind that over TLS.
    setImmediate(() => this.socket.end());
  }

  /** Breaks it off with RST, also under TLS. */
  reset(): void {
    this.#bare.resetAndDestroy();
    this.socket.destroy();
  }

  /** Everything that came, the head of the answer included; latin1. */
  get received(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  /** How much came, the head included. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What came behind the head. */
  get body(): string {
    const { received } = this;
    const end = received.indexOf('\r\n\r\n');
    return end < 0 ? '' : received.slice(end + 4);
  }

  /** Of the answer; 0 while there is none. */
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.received)?.[1] ?? 0);
  }

  /** Whether the gateway ended its direction in good order. */
  get ended(): boolean {
    return this.#ended;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get error(): Error | undefined {
    return this.#error;
  }

  /** The values of a field of the answer. */
  values(name: string): string[] {
    const [head = ''] = this.received.split('\r\n\r\n', 1);
    return head
      .split('\r\n')
      .slice(1)
      .flatMap((line) => {
        const colon = line.indexOf(':');
        return line.slice(0, colon).toLowerCase() === name.toLowerCase()
          ? [line.slice(colon + 1).trim()]
          : [];
      });
  }

  /** Resolves when it holds; it is looked at whenever something comes, and at the end. */
  async until(holds: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (holds()) resolve();
      else if (this.#closed)
        reject(new Error(`The connection is closed; this came: ${this.received.slice(0, 400)}`));
    };
    this.#looking.add(look);
    look();
    await promise.finally(() => this.#looking.delete(look));
  }

  /** The head of the answer is there. */
  async answered(): Promise<this> {
    await this.until(() => this.received.includes('\r\n\r\n'));
    return this;
  }

  /** The gateway has ended its direction or the connection, in whatever way; ours is ended after it. */
  async gone(): Promise<void> {
    await this.until(() => this.#ended || this.#closed);
    this.socket.end();
    await this.closes();
  }

  /** Resolves when the connection is gone. */
  async closes(): Promise<void> {
    await this.until(() => this.#closed);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
