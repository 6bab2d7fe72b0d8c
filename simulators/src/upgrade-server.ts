/**
 * An upstream for requests that want to go on in another protocol. It reads one head a connection and leaves everything else to
 * the test: what is answered, when, and in which pieces. All bytes behind the head are kept as they came, so that a test can
 * tell what reached the upstream and what did not.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { ChangeSignal, type WaitOptions } from './change-signal.ts';
import type { HttpProtocol } from './recorded-request.ts';
import { secureContext, type RecordingTlsOptions } from './recording-tls.ts';

export interface UpgradeServerOptions {
  /** Called once a connection, when its head is complete. Default: switches to what was asked for and sends back what comes. */
  readonly answer?: (connection: UpgradeConnection) => void;
  /** Plain TCP without. */
  readonly tls?: RecordingTlsOptions;
  /** What is agreed to in ALPN, in order of preference. On a connection that agrees on h2, nothing is read. Default: HTTP/1.1. */
  readonly protocols?: readonly HttpProtocol[];
  /** True leaves the server's direction open when the client ends its own. Default: false. */
  readonly allowHalfOpen?: boolean;
}

export class UpgradeServer implements AsyncDisposable {
  /** Every connection accepted, in order. */
  readonly connections: UpgradeConnection[] = [];
  readonly #server: net.Server;
  readonly #secure: boolean;
  readonly #changes = new ChangeSignal();
  /** Bare sockets; each takes itself out as it closes. */
  readonly #sockets = new Set<Socket>();
  #accepted = 0;

  private constructor(options: UpgradeServerOptions) {
    const { tls: secure, protocols = ['http/1.1'], answer = echo, allowHalfOpen = false } = options;
    this.#secure = secure !== undefined;
    const begin = (socket: Socket | TLSSocket): void => {
      const connection = new UpgradeConnection(socket, () => this.#changes.notify());
      this.connections.push(connection);
      connection.onHead(answer);
      this.#changes.notify();
    };
    this.#server =
      secure === undefined
        ? net.createServer({ allowHalfOpen, noDelay: true }, begin)
        : tls.createServer(
            {
              ...secureContext(secure),
              allowHalfOpen,
              requestCert: secure.requestClientCert ?? secure.clientCaPem !== undefined,
              rejectUnauthorized: false,
              ...((secure.alpn ?? true) && { ALPNProtocols: [...protocols] }),
            },
            begin,
          );
    this.#server.on('connection', (socket: Socket) => this.#track(socket));
    this.#server.on('tlsClientError', (_error: Error, socket: TLSSocket) => socket.destroy());
  }

  static async listen(options: UpgradeServerOptions = {}): Promise<UpgradeServer> {
    const server = new UpgradeServer(options);
    server.#server.listen({ host: '127.0.0.1', port: 0 });
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The server is closed');
    return address.port;
  }

  get url(): string {
    return `${this.#secure ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  /** TCP connections open now. */
  get open(): number {
    return this.#sockets.size;
  }

  get accepted(): number {
    return this.#accepted;
  }

  async waitForOpen(count: number, options?: WaitOptions): Promise<void> {
    await this.until(
      () => this.open === count,
      () => `${count} connections open, but ${this.open} are`,
      options,
    );
  }

  /** The connection with this index, as soon as its head is there. */
  async head(index = 0, options?: WaitOptions): Promise<UpgradeConnection> {
    const present = (): UpgradeConnection | undefined => {
      const connection = this.connections[index];
      return connection?.head === '' ? undefined : connection;
    };
    await this.until(
      () => present() !== undefined,
      () => `a request on connection ${index + 1}`,
      options,
    );
    const connection = present();
    if (connection === undefined) throw new Error('It was there a moment ago');
    return connection;
  }

  /** Looked at whenever a connection comes, goes or brings bytes. */
  async until(holds: () => boolean, describe: () => string, options?: WaitOptions): Promise<void> {
    await this.#changes.until(holds, describe, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#changes.fail(new Error('The server was closed'));
    await closed;
  }

  #track(socket: Socket): void {
    this.#accepted += 1;
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#changes.notify();
    });
  }
}

/** A head longer than this is none. */
const maxHeadBytes = 65_536;

export class UpgradeConnection {
  readonly socket: Socket | TLSSocket;
  /** Resolves when both directions are closed. */
  readonly closed: Promise<void>;
  readonly #changed: () => void;
  readonly #chunks: Buffer[] = [];
  #head = '';
  #bytes = 0;
  #ended = false;
  #error: Error | undefined;
  #pending = Buffer.alloc(0);

  constructor(socket: Socket | TLSSocket, changed: () => void) {
    this.socket = socket;
    this.#changed = changed;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.once('end', () => {
      this.#ended = true;
      changed();
    });
    socket.once('close', () => {
      resolve();
      changed();
    });
  }

  /** Up to and with its empty line, latin1; empty while it is not complete. */
  get head(): string {
    return this.#head;
  }

  /** Everything behind the head. */
  get received(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** How much that is. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the client ended its direction in good order. */
  get ended(): boolean {
    return this.#ended;
  }

  /** A reset by the client, above all. */
  get error(): Error | undefined {
    return this.#error;
  }

  get alpnProtocol(): string | undefined {
    return 'alpnProtocol' in this.socket && typeof this.socket.alpnProtocol === 'string'
      ? this.socket.alpnProtocol
      : undefined;
  }

  get sessionReused(): boolean {
    return 'isSessionReused' in this.socket && this.socket.isSessionReused();
  }

  get clientCommonName(): string | undefined {
    if (!('getPeerCertificate' in this.socket)) return undefined;
    const certificate: { subject?: { CN?: string | string[] } } = this.socket.getPeerCertificate();
    return [certificate.subject?.CN ?? []].flat().at(0);
  }

  get requestLine(): string {
    return this.#head.split('\r\n', 1)[0] ?? '';
  }

  /** The values of a field, one for each time that it is there. */
  values(name: string): string[] {
    return this.fields
      .filter(([present]) => present.toLowerCase() === name.toLowerCase())
      .map(([, value]) => value);
  }

  /** As they came. */
  get fields(): (readonly [name: string, value: string])[] {
    return this.#head
      .split('\r\n')
      .slice(1, -2)
      .map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
      });
  }

  /** The 101 that answers what was asked: the first subprotocol and the first stream protocol that were offered are chosen. */
  switchingHead(changes: Readonly<Record<string, string | undefined>> = {}): string {
    const [key] = this.values('sec-websocket-key');
    const offered = this.values('sec-websocket-protocol').flatMap((value) =>
      value.split(',').map((item) => item.trim()),
    );
    const fields: Record<string, string | undefined> = {
      Connection: 'Upgrade',
      Upgrade: this.values('upgrade')[0],
      ...(key !== undefined && { 'Sec-WebSocket-Accept': acceptValueOf(key) }),
      'Sec-WebSocket-Protocol': offered[0],
      'X-Stream-Protocol-Version': this.values('x-stream-protocol-version')[0],
      ...changes,
    };
    const lines = Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    );
    return ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n');
  }

  /** Writes these bytes, strings as latin1. Resolves when they are with the operating system, or the connection is gone. */
  async write(bytes: string | Uint8Array): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (typeof bytes === 'string') this.socket.write(bytes, 'latin1', () => resolve());
    else this.socket.write(bytes, () => resolve());
    await Promise.race([promise, this.closed]);
  }

  /** Sends RST, also under TLS. */
  reset(): void {
    const bare: unknown = Reflect.get(this.socket, '_parent');
    if (bare instanceof net.Socket) bare.resetAndDestroy();
    else if (!(this.socket instanceof tls.TLSSocket)) this.socket.resetAndDestroy();
    this.socket.destroy();
  }

  /** For the server. */
  onHead(answer: (connection: UpgradeConnection) => void): void {
    this.socket.on('data', (chunk: Buffer) => {
      if (this.#head === '') {
        this.#readHead(chunk, answer);
      } else {
        this.#keep(chunk);
      }
      this.#changed();
    });
  }

  #readHead(chunk: Buffer, answer: (connection: UpgradeConnection) => void): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    const end = this.#pending.indexOf('\r\n\r\n');
    if (end < 0) {
      if (this.#pending.length > maxHeadBytes) this.socket.destroy(new Error('The head has no end'));
      return;
    }
    this.#head = this.#pending.subarray(0, end + 4).toString('latin1');
    const rest = this.#pending.subarray(end + 4);
    if (rest.length > 0) this.#keep(rest);
    answer(this);
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }
}

function echo(connection: UpgradeConnection): void {
  const { socket } = connection;
  socket.write(connection.switchingHead(), 'latin1');
  socket.write(connection.received);
  socket.on('data', (chunk: Buffer) => {
    if (!socket.write(chunk)) {
      socket.pause();
      socket.once('drain', () => socket.resume());
    }
  });
  socket.once('end', () => socket.end());
}

/** RFC 6455, section 4.2.2. */
function acceptValueOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}
