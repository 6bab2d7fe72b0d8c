/** Bytes of another protocol in binary messages, whose borders mean nothing: SPDY/3.1+portforward.k8s.io. */

import type { ByteConnection } from '../byte-connection.ts';
import type { WebSocketConnection } from './connection.ts';

export class WebSocketTunnel implements ByteConnection {
  readonly closed: Promise<void>;
  readonly #webSocket: WebSocketConnection;
  readonly #connection: ByteConnection;

  constructor(webSocket: WebSocketConnection, connection: ByteConnection) {
    this.#webSocket = webSocket;
    this.#connection = connection;
    this.closed = connection.closed;
  }

  async *chunks(): AsyncGenerator<Buffer, void> {
    for await (const { data } of this.#webSocket.messages()) yield data;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#webSocket.send(bytes);
  }

  /** A close frame, then the end of our direction. */
  end(): void {
    void this.#webSocket
      .close()
      .catch(() => {})
      .finally(() => this.#connection.end());
  }

  destroy(): void {
    this.#connection.destroy();
  }
}
