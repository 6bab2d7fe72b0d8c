// A shell in a pod, as kubectl opens one over WebSocket, through the gateway of the demo.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { readTarget } from './demo-client.ts';

export class ExecSession implements Disposable {
  readonly #socket: TLSSocket;
  #received = '';
  #closed = false;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => (this.#received += chunk.toString('latin1')));
    socket.once('close', () => (this.#closed = true));
  }

  /** Resolves when the cluster has agreed. */
  static async open(folder: string, context: string, pod: string): Promise<ExecSession> {
    const { url, ca, authorization } = await readTarget(folder, context);
    const socket = connect({ host: url.hostname, port: Number(url.port), ca, ALPNProtocols: ['http/1.1'] });
    const session = new ExecSession(socket);
    const query = 'command=sh&stdin=true&stdout=true';
    socket.write(
      [
        `GET ${url.pathname}/api/v1/namespaces/default/pods/${pod}/exec?${query} HTTP/1.1`,
        `Host: ${url.host}`,
        `Authorization: ${authorization}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
        'Sec-WebSocket-Protocol: v5.channel.k8s.io',
        '\r\n',
      ].join('\r\n'),
    );
    await session.#until(() => session.#received.includes('\r\n\r\n'));
    if (!session.#received.startsWith('HTTP/1.1 101 ')) throw new Error(session.#received);
    return session;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Says a line to the shell, and resolves when it says it back. */
  async echoes(word: string): Promise<void> {
    // Channel 0 is stdin; frames of a client are masked, here by zeros (RFC 6455, section 5.3).
    const payload = Buffer.from(`\0echo ${word}\n`);
    this.#socket.write(Buffer.concat([Buffer.from([0x82, 0x80 + payload.length, 0, 0, 0, 0]), payload]));
    await this.#until(() => this.#received.includes(`${word}\n`));
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.#closed) throw new Error(`the session has ended: ${this.#received}`);
      await Promise.race([once(this.#socket, 'data'), once(this.#socket, 'close')]);
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
