/** One client of a `ProxyServer`, from its first byte to the end of both its connections. */

import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import type { Conversation, ProxyProtocol, ProxyUser } from './proxy-protocol.ts';

/** As the client named it. */
export interface ProxyTarget {
  /** IPv6 without brackets, all its groups. */
  readonly host: string;
  readonly port: number;
  /** Of HTTP: the whole head. */
  readonly head?: string;
}

export interface ProxiedConnectionOptions {
  readonly protocol: ProxyProtocol;
  readonly resolve: (target: ProxyTarget) => { readonly host?: string; readonly port: number };
  readonly pieceBytes: number;
  readonly changed: () => void;
}

const maxHeadBytes = 65_536;

export class ProxiedConnection {
  readonly socket: Socket | TLSSocket;
  /** Of TLS in front. */
  readonly sessionReused: boolean;
  /** Resolves when the client's connection and the one to the target are closed. */
  readonly closed: Promise<void>;
  readonly #options: ProxiedConnectionOptions;
  #pending = Buffer.alloc(0);
  #target: ProxyTarget | undefined;
  #user: ProxyUser | undefined;
  #upstream: Socket | undefined;
  #opened = false;
  #ended = false;
  #bytesUp = 0;
  #bytesDown = 0;

  constructor(socket: Socket | TLSSocket, options: ProxiedConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    this.sessionReused = socket instanceof TLSSocket && socket.isSessionReused();
    // Only now: a handshake that one side gives up is over for the other, too.
    socket.allowHalfOpen = true;
    socket.on('error', () => undefined);
    this.closed = closeOf(socket).then(async () => {
      this.#upstream?.destroy();
      if (this.#upstream?.closed === false) await closeOf(this.#upstream);
      this.#ended = true;
      options.changed();
    });
  }

  /** Undefined until it was read. */
  get target(): ProxyTarget | undefined {
    return this.#target;
  }

  /** As the client showed itself; undefined when it did not. */
  get user(): ProxyUser | undefined {
    return this.#user;
  }

  /** Whether it has become a tunnel. */
  get opened(): boolean {
    return this.#opened;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Through the tunnel, from the client to the target. */
  get bytesUp(): number {
    return this.#bytesUp;
  }

  get bytesDown(): number {
    return this.#bytesDown;
  }

  /**
   * Connects to the target, says yes, and relays until both sides have ended. Says no when it cannot connect.
   *
   * @param options.behind sent in one piece with the yes
   * @param options.waitForTarget says yes only when the target has said something, and that in one piece with it
   */
  async open(options: { readonly behind?: Buffer; readonly waitForTarget?: boolean } = {}): Promise<void> {
    const { protocol, resolve } = this.#options;
    const { host = '127.0.0.1', port } = resolve(this.#target ?? { host: '', port: 0 });
    const upstream = net.connect({ host, port, allowHalfOpen: true, noDelay: true });
    this.#upstream = upstream;
    try {
      await once(upstream, 'connect');
    } catch {
      await this.refuse(protocol.unreachable);
      return;
    }
    upstream.on('error', () => undefined);
    upstream.once('close', (failed) => this.#end(failed));
    const first = options.waitForTarget === true ? await firstBytes(upstream) : Buffer.alloc(0);
    this.#opened = true;
    this.#options.changed();
    await this.say(Buffer.concat([protocol.yes, options.behind ?? Buffer.alloc(0), first]));
    this.#relay(upstream);
  }

  /** Says no, and ends the connection. */
  async refuse(code: number): Promise<void> {
    await this.say(this.#options.protocol.no(code));
    this.socket.end();
  }

  /** In pieces, where the proxy is told to. Strings as latin1. */
  async say(bytes: string | Buffer): Promise<void> {
    const rest = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    const { pieceBytes } = this.#options;
    for (let at = 0; at < rest.length && !this.socket.destroyed; at += pieceBytes) {
      if (at > 0) await nextTurn();
      this.socket.write(rest.subarray(at, at + pieceBytes));
    }
  }

  /** For the server: reads what is asked. Resolves with whether it is to be answered. */
  async read(expected: ProxyUser | undefined): Promise<boolean> {
    const conversation: Conversation = {
      exactly: async (length) => this.#take(() => length),
      head: async () => (await this.#take(endOfHead)).toString('latin1'),
      say: async (bytes) => this.say(bytes),
    };
    try {
      const { target, user, served } = await this.#options.protocol.ask(conversation, expected);
      this.#target = target;
      this.#user = user;
      if (this.#pending.length > 0) this.socket.unshift(this.#pending);
      if (!served) this.socket.end();
      this.socket.on('readable', this.#onReadable).once('end', () => {
        if (!this.#opened) this.socket.end();
      });
      this.#options.changed();
      return served;
    } catch {
      // The client has gone, or speaks something else.
      this.socket.destroy();
      return false;
    }
  }

  /** @param lengthOf how many bytes it is, once that can be told */
  async #take(lengthOf: (bytes: Buffer) => number | undefined): Promise<Buffer> {
    for (;;) {
      const length = lengthOf(this.#pending);
      if (length !== undefined && length <= this.#pending.length) {
        const taken = this.#pending.subarray(0, length);
        this.#pending = this.#pending.subarray(length);
        return taken;
      }
      this.#pending = Buffer.concat([this.#pending, await firstBytes(this.socket)]);
      if (this.#pending.length > maxHeadBytes) throw new Error('The head has no end');
    }
  }

  /** As long as nothing is relayed, nobody reads; that the client has gone is noticed all the same. */
  readonly #onReadable = (): void => {
    if (this.socket.readableLength === 0) this.socket.read();
  };

  #relay(upstream: Socket): void {
    this.socket.off('readable', this.#onReadable);
    this.socket.on('data', (chunk: Buffer) => {
      this.#bytesUp += chunk.length;
    });
    upstream.on('data', (chunk: Buffer) => {
      this.#bytesDown += chunk.length;
    });
    this.socket.pipe(upstream);
    upstream.pipe(this.socket);
    this.socket.once('close', (failed) => {
      if (failed && !upstream.destroyed) upstream.resetAndDestroy();
    });
  }

  /** A target that breaks off is passed on as that. */
  #end(failed: boolean): void {
    if (failed && !(this.socket instanceof TLSSocket) && !this.socket.destroyed)
      this.socket.resetAndDestroy();
    else if (failed) this.socket.destroy();
  }
}

function endOfHead(bytes: Buffer): number | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  return end < 0 ? undefined : end + 4;
}

/** What comes next. Rejects when it ends before. */
async function firstBytes(socket: Socket): Promise<Buffer> {
  for (;;) {
    const bytes: unknown = socket.read();
    if (Buffer.isBuffer(bytes)) return bytes;
    if (socket.destroyed || socket.readableEnded) throw new Error('The connection has ended');
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once('readable', resolve).once('end', resolve).once('close', resolve);
    await promise;
    socket.off('readable', resolve).off('end', resolve).off('close', resolve);
  }
}

async function closeOf(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  await promise;
}
