/** A TCP server that writes what a test says, for peers that no HTTP server would be. */

import { once } from 'node:events';
import net from 'node:net';
import type { Socket } from 'node:net';

export class RawServer implements AsyncDisposable {
  readonly sockets: Socket[] = [];
  readonly #server: net.Server;

  private constructor(onSocket: (socket: Socket, index: number) => void) {
    // Half-open: a peer that never closes its own side is one of those that are needed here.
    this.#server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      socket.on('error', () => undefined);
      this.sockets.push(socket);
      onSocket(socket, this.sockets.length - 1);
    });
  }

  static async listen(onSocket: (socket: Socket, index: number) => void): Promise<RawServer> {
    const server = new RawServer(onSocket);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The server is closed');
    return address.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Those whose client has not gone yet. */
  get open(): number {
    return this.sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.sockets) {
      socket.destroy();
    }
    if (this.#server.listening) {
      await once(this.#server, 'close');
    }
  }
}

/** Answers each chunk that comes, which is each request as long as they come one after the other. */
export function answering(response: string): (socket: Socket) => void {
  return (socket) => socket.on('data', () => socket.write(response));
}

export const okResponse = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
