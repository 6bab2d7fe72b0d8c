/** A connection through a tunnel: a `Duplex` that behaves as a `net.Socket` does under `tls`, `node:http`, `node:http2` and undici. */

import { Duplex } from 'node:stream';
import type { Clock, Timer } from './clock.ts';
import type { TunnelCounts } from './counts.ts';
import { nameOf } from './dial-target.ts';
import type { TunnelTarget } from './dial-target.ts';
import { TunnelError } from './errors.ts';
import type { TunnelLimits } from './limits.ts';
import type { TunnelEnd, TunnelStream } from './tunnel-stream.ts';

export interface TunnelOptions {
  readonly target: TunnelTarget;
  readonly stream: TunnelStream;
  readonly clock: Clock;
  readonly limits: TunnelLimits;
  readonly counts: TunnelCounts;
}

/** Buffered of what was written before `write()` says that it is enough. */
const writeBufferBytes = 262_144;
/** Below this size on the average, buffers are joined: a header of their own would cost more. */
const smallBytes = 512;

interface Write {
  readonly chunk: Buffer;
}

/**
 * What is not as with a socket: `end()` cannot tell the other side that nothing more comes, so it stays until that has closed, too, or was
 * silent for `halfOpenTimeoutMs`; and an agent that is lost closes it in good order, as far as can be seen. What is in the tunnel (TLS,
 * HTTP) knows when something is missing. An error nobody listens for does not end the process: `close` always follows.
 */
export class Tunnel extends Duplex implements TunnelEnd {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly connecting = false;
  readonly pending = false;
  readonly #stream: TunnelStream;
  readonly #clock: Clock;
  readonly #limits: TunnelLimits;
  readonly #counts: TunnelCounts;
  #bytesRead = 0;
  #bytesWritten = 0;
  /** Set while the reader is behind. */
  #stall: Timer | undefined;
  /** The other side has closed. */
  #closed = false;
  /** How it closed; told when everything before it was read. */
  #failure: TunnelError | undefined;
  /** A write behind the close: it fails when everything was read. */
  #late: ((error: Error) => void) | undefined;
  #halfOpen: Timer | undefined;
  #idleMs = 0;
  #idle: Timer | undefined;

  /** For `TunnelDialer.dial`. */
  constructor({ target, stream, clock, limits, counts }: TunnelOptions) {
    super({ allowHalfOpen: false, writableHighWaterMark: writeBufferBytes });
    this.remoteAddress = target.host;
    this.remotePort = target.port;
    this.#stream = stream;
    this.#clock = clock;
    this.#limits = limits;
    this.#counts = counts;
    this.on('error', () => undefined);
    this.once('end', () => this.#failLate());
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  get bytesWritten(): number {
    return this.#bytesWritten;
  }

  /** As with a socket: what may still be done with it. */
  get readyState(): 'open' | 'readOnly' | 'writeOnly' | 'closed' {
    const readable = this.readable;
    if (readable && this.writable) {
      return 'open';
    }
    if (readable) {
      return 'readOnly';
    }
    return this.writable ? 'writeOnly' : 'closed';
  }

  get timeout(): number {
    return this.#idleMs;
  }

  /** @param ms without traffic until 'timeout' is emitted, which does nothing by itself; 0: never */
  setTimeout(ms: number, callback?: () => void): this {
    this.#idleMs = ms;
    if (callback !== undefined) {
      if (ms === 0) {
        this.off('timeout', callback);
      } else {
        this.once('timeout', callback);
      }
    }
    this.#active();
    return this;
  }

  /** Packets are sent as soon as they are written. */
  setNoDelay(): this {
    return this;
  }

  /** The session below has keep-alive. */
  setKeepAlive(): this {
    return this;
  }

  /** Tunnels share a session, so one of them can neither hold the process nor let it go. */
  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  address(): object {
    return {};
  }

  /** Ends it when all that was written is sent. */
  destroySoon(): void {
    if (this.writable) {
      this.end();
    }
    if (this.writableFinished) {
      this.destroy();
    } else {
      this.once('finish', () => this.destroy());
    }
  }

  /** There is no reset in the protocol. */
  resetAndDestroy(): this {
    return this.destroy();
  }

  /** What it has received and nobody has read. */
  get buffered(): number {
    return this.readableLength + this.#stream.unread;
  }

  onData(data: Buffer): void {
    this.#bytesRead += data.length;
    this.#active();
    this.#halfOpen?.cancel();
    if (this.writableFinished) {
      this.#waitForClose();
    }
    if (!this.push(data)) {
      this.#stream.pause();
      this.#stall ??= this.#clock.setTimeout(() => this.#checkStall(), this.#limits.stallTimeoutMs);
    }
  }

  onClosed(error: TunnelError | undefined): void {
    this.#closed = true;
    this.#rest();
    if (error === undefined) {
      this.push(null);
      return;
    }
    this.#failure = error;
    this.#failWhenRead();
  }

  onLost(error: TunnelError): void {
    this.#closed = true;
    this.destroy(error);
  }

  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    this.#failWhenRead();
    return chunk;
  }

  override _read(): void {
    this.#stall?.cancel();
    this.#stall = undefined;
    if (!this.#closed) {
      this.#stream.resume();
    }
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#write([{ chunk }], callback);
  }

  override _writev(writes: Write[], callback: (error?: Error | null) => void): void {
    this.#write(writes, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    callback();
    this.#waitForClose();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#rest();
    this.#idle?.cancel();
    this.#failLate();
    this.#stream.close();
    callback(error);
  }

  #write(writes: readonly Write[], callback: (error?: Error | null) => void): void {
    if (this.#closed) {
      this.#late = callback;
      if (this.readableEnded || this.#failure !== undefined) {
        this.#failLate();
      }
      return;
    }
    this.#active();
    const { packetBytes } = this.#limits;
    let length = 0;
    for (const { chunk } of writes) {
      length += chunk.length;
    }
    if (length === 0) {
      callback();
      return;
    }
    this.#stream.sendData(packetsOf(writes, packetBytes), (error) => {
      if (error === undefined || error === null || this.#closed) {
        // A close may have crossed it: then it is as a socket's, which has taken the bytes and lost them.
        this.#bytesWritten += length;
        this.#active();
        callback();
      } else {
        // Why the stream ended is told right behind.
        this.#late = callback;
      }
    });
  }

  #failLate(): void {
    const late = this.#late;
    this.#late = undefined;
    late?.(this.#stream.endedError());
  }

  #failWhenRead(): void {
    const failure = this.#failure;
    if (failure !== undefined && this.readableLength === 0) {
      this.destroy(failure);
    }
  }

  #checkStall(): void {
    this.#stall = undefined;
    const waiting = this.buffered;
    if (this.destroyed || this.#closed) {
      return;
    }
    // Flow control gives room back by halves of a window: with less waiting the server is not held up.
    if (waiting < this.#limits.windowBytes / 2) {
      this.#stall = this.#clock.setTimeout(() => this.#checkStall(), this.#limits.stallTimeoutMs);
      return;
    }
    this.#counts.stalls += 1;
    this.destroy(
      new TunnelError(
        'ERR_RH_TUNNEL_STALLED',
        `nobody has read from the tunnel to ${nameOf({ host: this.remoteAddress, port: this.remotePort })} for ${
          this.#limits.stallTimeoutMs
        } ms, with ${waiting} bytes waiting`,
      ),
    );
  }

  /** After `end()`. */
  #waitForClose(): void {
    if (!this.#closed && !this.destroyed) {
      this.#halfOpen?.cancel();
      this.#halfOpen = this.#clock.setTimeout(() => this.destroy(), this.#limits.halfOpenTimeoutMs);
    }
  }

  #rest(): void {
    this.#stall?.cancel();
    this.#stall = undefined;
    this.#halfOpen?.cancel();
    this.#halfOpen = undefined;
  }

  #active(): void {
    this.#idle?.cancel();
    this.#idle =
      this.#idleMs > 0 && !this.destroyed
        ? this.#clock.setTimeout(() => this.emit('timeout'), this.#idleMs)
        : undefined;
  }
}

/** Cut and joined into packets of this size at most. No byte is copied but those of very small writes. */
function packetsOf(writes: readonly Write[], packetBytes: number): Buffer[][] {
  const packets: Buffer[][] = [];
  let packet: Buffer[] = [];
  let room = packetBytes;
  const close = (): void => {
    const length = packetBytes - room;
    packets.push(length < packet.length * smallBytes ? [Buffer.concat(packet, length)] : packet);
    packet = [];
    room = packetBytes;
  };
  for (const { chunk } of writes) {
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + room);
      packet.push(part);
      at += part.length;
      room -= part.length;
      if (room === 0) {
        close();
      }
    }
  }
  if (packet.length > 0) {
    close();
  }
  return packets;
}
