/** One stream of a SPDY session: two directions of bytes that end each by itself, or both at once by a reset. */

import { BrokenPipe, BytePipe, type ByteSink, type ByteSource } from '../byte-pipe.ts';
import type { SpdyFields } from './fields.ts';
import { resetStatus, type SpdyFrame } from './frames.ts';

/** The session, as its streams know it. */
export interface SpdyStreamOwner {
  send(frame: SpdyFrame): Promise<void>;
  streamClosed(stream: SpdyStream): void;
}

/** The peer has given the stream up. */
export class StreamReset extends Error {
  /** As in RST_STREAM. */
  readonly status: number;

  constructor(status: number) {
    super(`the stream was reset with status ${status}`);
    this.name = 'StreamReset';
    this.status = status;
  }
}

/** Of one data frame that we send. */
const maxDataBytes = 32_768;
/** Unread bytes of one stream before the whole session waits for its reader. */
const unreadBytes = 262_144;

export class SpdyStream implements ByteSource, ByteSink {
  readonly id: number;
  readonly fields: SpdyFields;
  /** Resolves when both directions have ended, however. */
  readonly closed: Promise<void>;
  readonly #owner: SpdyStreamOwner;
  readonly #incoming = new BytePipe(unreadBytes);
  readonly #closed = Promise.withResolvers<void>();
  #localEnded = false;
  #remoteEnded = false;
  #failure: Error | undefined;

  constructor(id: number, fields: SpdyFields, owner: SpdyStreamOwner) {
    this.id = id;
    this.fields = fields;
    this.#owner = owner;
    this.closed = this.#closed.promise;
  }

  /** Why it ended early; undefined while it lives, and when it ended in good order. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get localEnded(): boolean {
    return this.#localEnded;
  }

  async read(): Promise<Buffer | undefined> {
    return this.#incoming.read();
  }

  /** What comes from now on is dropped. */
  stopReading(): void {
    this.#incoming.close();
  }

  async write(bytes: Uint8Array): Promise<void> {
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let offset = 0; offset < data.length; offset += maxDataBytes) {
      if (this.#localEnded) throw this.#failure ?? new BrokenPipe();
      await this.#owner.send({
        type: 'data',
        streamId: this.id,
        fin: false,
        data: data.subarray(offset, offset + maxDataBytes),
      });
    }
  }

  async end(): Promise<void> {
    if (this.#localEnded) return;
    this.#localEnded = true;
    this.#settle();
    await this.#owner.send({ type: 'data', streamId: this.id, fin: true, data: Buffer.alloc(0) });
  }

  /** Gives up both directions. */
  async reset(status: number = resetStatus.cancel): Promise<void> {
    if (this.#localEnded && this.#remoteEnded) return;
    this.fail(new StreamReset(status));
    await this.#owner.send({ type: 'rst-stream', streamId: this.id, status });
  }

  /** For the session. */
  async receive(data: Buffer, fin: boolean): Promise<void> {
    if (this.#remoteEnded) return;
    // A reader that has gone does not hold up the others.
    await this.#incoming.write(data).catch(() => {});
    if (fin) this.receiveEnd();
  }

  /** For the session. */
  receiveEnd(): void {
    this.#remoteEnded = true;
    void this.#incoming.end();
    this.#settle();
  }

  /** For the session: it is over, with what was not read yet. */
  fail(reason: Error): void {
    if (this.#localEnded && this.#remoteEnded) return;
    this.#failure ??= reason;
    this.#localEnded = true;
    this.#remoteEnded = true;
    this.#incoming.fail(reason);
    this.#settle();
  }

  #settle(): void {
    if (!this.#localEnded || !this.#remoteEnded) return;
    this.#owner.streamClosed(this);
    this.#closed.resolve();
  }
}
