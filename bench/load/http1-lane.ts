/**
 * HTTP/1.1 on a bare socket. It reads as little as will do to be sure of the answer, so that the machine's time goes to the proxy that
 * is measured and not to a client library.
 */

import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Ask, Lane } from './lane.ts';

const headEnd = Buffer.from('\r\n\r\n');

export class Http1Lane implements Lane {
  readonly #socket: Socket;
  readonly #request: string;
  readonly #bodyBytes: number;
  #pending: PromiseWithResolvers<void> | undefined;
  #head: Buffer = Buffer.alloc(0);
  /** Of the body still to come; undefined while the head is not complete. */
  #missing: number | undefined;

  private constructor(socket: Socket, { url, bodyBytes }: Ask) {
    const { host, pathname, search } = new URL(url);
    this.#socket = socket;
    this.#bodyBytes = bodyBytes;
    this.#request = `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nAccept: application/json\r\nUser-Agent: bench\r\n\r\n`;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#pending?.reject(error));
    socket.on('close', () => this.#pending?.reject(new Error('the proxy closed the connection')));
  }

  static async open(ask: Ask): Promise<Http1Lane> {
    const socket = await openSocket(ask);
    return new Http1Lane(socket, ask);
  }

  exchange(): Promise<void> {
    this.#pending = Promise.withResolvers<void>();
    this.#socket.write(this.#request);
    return this.#pending.promise;
  }

  close(): void {
    this.#pending = undefined;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#missing === undefined) {
      this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = this.#head.indexOf(headEnd);
      if (end === -1) return;
      const head = this.#head.toString('latin1', 0, end);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
      if (!head.startsWith('HTTP/1.1 200') || length !== this.#bodyBytes) {
        this.#pending?.reject(new Error(`not the expected answer:\n${head}`));
        return;
      }
      this.#missing = length - (this.#head.length - end - headEnd.length);
    } else {
      this.#missing -= chunk.length;
    }
    if (this.#missing > 0) return;
    const surplus = this.#missing < 0;
    this.#missing = undefined;
    this.#head = Buffer.alloc(0);
    if (surplus) this.#pending?.reject(new Error('the answer is longer than it says'));
    else this.#pending?.resolve();
  }
}

/** Connected, and over TLS verified. */
export async function openSocket({ url, caPem }: Pick<Ask, 'url' | 'caPem'>): Promise<Socket> {
  const { protocol, hostname, port } = new URL(url);
  const address = { host: hostname, port: Number(port) };
  if (protocol === 'http:') {
    const socket = connectTcp({ ...address, noDelay: true });
    await once(socket, 'connect');
    return socket;
  }
  const socket = connectTls({ ...address, ca: caPem, servername: 'localhost', ALPNProtocols: ['http/1.1'] });
  socket.setNoDelay(true);
  await once(socket, 'secureConnect');
  return socket;
}
