/**
 * On the bare connection: Node.js has taken its parser away, so nothing that comes behind the request can be another one, and
 * the connection ends with whatever is answered here.
 */

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { endSoon } from './end-soon.ts';
import { forEachField } from './field-list.ts';
import type { SocketBelow } from './front-connections.ts';
import type { SessionSide, UpgradeReply } from './upgrade-reply.ts';

/** What a client may send before it was told that it may. Beyond that it is left in the connection. */
const maxEarlyBytes = 65_536;

export class Http1UpgradeReply implements UpgradeReply {
  readonly ownFields: string[] = [];
  onDrain: (() => void) | undefined;
  onClosed: ((complete: boolean) => void) | undefined;
  readonly #socket: Socket;
  readonly #below: SocketBelow;
  readonly #early: Buffer[] = [];
  #earlyBytes = 0;
  #status = 0;
  #bytesOut = 0;
  #ended = false;
  #over = false;

  /**
   * @param head what came with the request
   * @param below where there is TLS over it, the connection under that
   */
  constructor(socket: Socket, head: Buffer, below: SocketBelow) {
    this.#socket = socket;
    this.#below = below;
    // Its end must not end our side: whether it does is the session's matter.
    socket.allowHalfOpen = true;
    socket.on('error', () => undefined);
    socket.on('drain', this.#onDrain);
    socket.on('end', this.#onGone);
    socket.on('close', this.#onGone);
    // It is read from while the cluster is asked, or nobody would notice that the client has gone.
    this.#keep(head);
    socket.on('data', this.#keep);
    socket.resume();
  }

  get started(): boolean {
    return this.#status > 0;
  }

  get closed(): boolean {
    return this.#ended || this.#over || !this.#socket.writable;
  }

  get status(): number {
    return this.#status;
  }

  get bytesOut(): number {
    return this.#bytesOut;
  }

  /** It does in any case. */
  endConnection(): void {}

  proceed(): void {}

  start(status: number, fields: readonly string[]): void {
    this.#writeHead(status, [...fields, ...this.ownFields, 'Connection', 'close']);
  }

  write(chunk: Buffer | string): boolean {
    this.#bytesOut += Buffer.byteLength(chunk);
    return this.#socket.write(chunk);
  }

  end(): void {
    this.#ended = true;
    endSoon(this.#socket, () => {
      this.#settle(true);
      // What the client has sent meanwhile is nobody's: left unread it would make a reset of our answer.
      this.#socket.destroySoon();
    });
  }

  reset(): void {
    this.#ended = true;
    this.#below.reset();
    this.#settle(false);
  }

  switchProtocols(protocol: string, fields: readonly string[]): SessionSide {
    const socket = this.#socket;
    this.#writeHead(101, ['Connection', 'Upgrade', 'Upgrade', protocol, ...fields, ...this.ownFields]);
    this.#letGo();
    socket.pause();
    if (this.#earlyBytes > 0) {
      socket.unshift(Buffer.concat(this.#early.splice(0)));
    }
    return { socket, ...this.#below };
  }

  relayed(bytes: number): void {
    this.#bytesOut += bytes;
  }

  #writeHead(status: number, fields: readonly string[]): void {
    this.#status = status;
    const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`];
    forEachField(fields, (name, value) => lines.push(`${name}: ${value}`));
    this.#socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  }

  readonly #keep = (chunk: Buffer): void => {
    this.#early.push(chunk);
    this.#earlyBytes += chunk.length;
    if (this.#earlyBytes >= maxEarlyBytes) {
      this.#socket.pause();
    }
  };

  readonly #onDrain = (): void => {
    this.onDrain?.();
  };

  /** A client that ends its side before it has an answer is not waiting for one. */
  readonly #onGone = (): void => {
    this.#socket.destroySoon();
    this.#settle(false);
  };

  #settle(complete: boolean): void {
    if (!this.#over) {
      this.#over = true;
      this.#letGo();
      this.onClosed?.(complete);
    }
  }

  #letGo(): void {
    this.#socket.off('drain', this.#onDrain);
    this.#socket.off('end', this.#onGone);
    this.#socket.off('close', this.#onGone);
    this.#socket.off('data', this.#keep);
  }
}
