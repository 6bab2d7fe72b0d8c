/**
 * A socket after the switch of protocols, with a hand on it: it counts its bytes, and it can be frozen, reset or ended at a given byte.
 * Owns the socket.
 */

import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { ConnectionGone, type ByteConnection } from './byte-connection.ts';

export class SocketConnection implements ByteConnection {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  #early: Buffer;
  #bytesIn = 0;
  #bytesOut = 0;
  #frozen = false;
  #error: Error | undefined;
  #ended = false;
  /** Settled at the next 'drain' or at the end; undefined while nobody waits. */
  #drained: PromiseWithResolvers<void> | undefined;
  #cut: { readonly atByte: number; strike(): void } | undefined;

  /** `early`: what was read of the socket beyond the head. */
  constructor(socket: Socket, early: Buffer) {
    this.socket = socket;
    this.#early = early;
    socket.setNoDelay(true);
    // The peer's end is the peer's; who owns this decides about ours.
    socket.allowHalfOpen = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.on('error', (error) => {
      this.#error ??= error;
    });
    socket.on('drain', () => this.#release());
    socket.once('end', () => {
      this.#ended = true;
    });
    socket.once('close', () => {
      this.#release();
      resolve();
    });
  }

  /** Read by us, and written by us: of what is spoken behind the head. */
  get bytesIn(): number {
    return this.#bytesIn;
  }

  get bytesOut(): number {
    return this.#bytesOut;
  }

  /** Whether the peer ended its direction in good order. */
  get ended(): boolean {
    return this.#ended;
  }

  get error(): Error | undefined {
    return this.#error;
  }

  get open(): boolean {
    return !this.socket.destroyed;
  }

  async *chunks(): AsyncGenerator<Buffer, void> {
    const early = this.#early;
    this.#early = Buffer.alloc(0);
    if (early.length > 0) {
      this.#bytesIn += early.length;
      yield early;
    }
    try {
      for await (const chunk of this.socket.iterator({ destroyOnReturn: false })) {
        if (!Buffer.isBuffer(chunk)) throw new TypeError('The socket has an encoding');
        this.#bytesIn += chunk.length;
        while (this.#frozen && this.open) await this.closed;
        yield chunk;
      }
    } catch (cause) {
      throw new ConnectionGone({ cause: this.#error ?? cause });
    }
    if (this.#error !== undefined) throw new ConnectionGone({ cause: this.#error });
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#frozen) await this.closed;
    if (!this.socket.writable) throw new ConnectionGone(this.#error && { cause: this.#error });
    const cut = this.#cut;
    if (cut !== undefined && this.#bytesOut + bytes.length >= cut.atByte) {
      const before = bytes.subarray(0, cut.atByte - this.#bytesOut);
      this.#bytesOut += before.length;
      this.#cut = undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.socket.write(before, () => resolve());
      await Promise.race([promise, this.closed]);
      cut.strike();
      throw new ConnectionGone();
    }
    this.#bytesOut += bytes.length;
    if (this.socket.write(bytes)) return;
    this.#drained ??= Promise.withResolvers<void>();
    await this.#drained.promise;
    if (this.socket.destroyed) throw new ConnectionGone(this.#error && { cause: this.#error });
  }

  end(): void {
    if (!this.#frozen) this.socket.end();
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Sends RST, also under TLS. */
  reset(): void {
    const bare: unknown = Reflect.get(this.socket, '_parent');
    if (bare instanceof net.Socket) bare.resetAndDestroy();
    else if (!(this.socket instanceof tls.TLSSocket)) this.socket.resetAndDestroy();
    this.socket.destroy();
  }

  /** Nothing is read or written any more, and the peer is not told. */
  freeze(): void {
    this.#frozen = true;
    this.socket.pause();
  }

  /** As soon as so many bytes have been written: those are, the next is not. */
  cutAt(atByte: number, strike: () => void): void {
    this.#cut = { atByte, strike };
  }

  #release(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
  }
}
