/** One client of a `Relay` with its connection to the target, as long as either of them is open. */

import net, { type Socket } from 'node:net';
import { RelayLane } from './relay-lane.ts';

/** `up` is from the client to the target, `down` the way back. */
export type RelayDirection = 'both' | 'up' | 'down';

export interface RelayTarget {
  /** Default: 127.0.0.1. */
  readonly host?: string;
  readonly port: number;
}

/** How a lane is to behave; the relay's wish for connections to come. */
export interface LaneSettings {
  readonly frozen: boolean;
  readonly bytesPerSecond: number | undefined;
}

interface End {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  /** True once it was closed by an error or a reset. */
  failed: boolean;
}

export class RelayedConnection {
  /** Resolves when both ends are closed. */
  readonly closed: Promise<void>;
  readonly #target: RelayTarget;
  readonly #client: End;
  readonly #upstream: End;
  readonly #up: RelayLane;
  readonly #down: RelayLane;
  #dialled = false;

  constructor(client: Socket, target: RelayTarget, up: LaneSettings, down: LaneSettings) {
    const upstream = new net.Socket({ allowHalfOpen: true });
    this.#target = target;
    this.#client = end(client);
    this.#upstream = end(upstream);
    this.#up = new RelayLane(client, upstream, up.frozen, up.bytesPerSecond);
    this.#down = new RelayLane(upstream, client, down.frozen, down.bytesPerSecond);
    this.closed = Promise.all([this.#client.closed, this.#upstream.closed]).then(() => {});
  }

  /** Begins to relay. A frozen way up keeps the target from hearing of the client at all. */
  open(): void {
    void this.#client.closed.then(() => this.#passOnFailures());
    void this.#upstream.closed.then(() => this.#passOnFailures());
    this.#up.open();
    this.#dial();
  }

  get bytesUp(): number {
    return this.#up.bytes;
  }

  get bytesDown(): number {
    return this.#down.bytes;
  }

  freeze(direction: RelayDirection): void {
    for (const lane of this.#lanes(direction)) lane.freeze();
  }

  thaw(direction: RelayDirection): void {
    for (const lane of this.#lanes(direction)) lane.thaw();
    this.#dial();
    this.#passOnFailures();
  }

  throttle(bytesPerSecond: number | undefined, direction: RelayDirection): void {
    for (const lane of this.#lanes(direction)) lane.throttle(bytesPerSecond);
  }

  /** FIN to both ends; closed when they have ended, too. */
  cut(): void {
    if (!this.#dialled) this.#upstream.socket.destroy();
    this.#up.cut();
    this.#down.cut();
  }

  /** RST to both ends. */
  reset(): void {
    reset(this.#client.socket);
    reset(this.#upstream.socket);
  }

  destroy(): void {
    this.#client.socket.destroy();
    this.#upstream.socket.destroy();
  }

  #lanes(direction: RelayDirection): readonly RelayLane[] {
    if (direction === 'both') return [this.#up, this.#down];
    return [direction === 'up' ? this.#up : this.#down];
  }

  #dial(): void {
    if (this.#dialled || this.#up.frozen || this.#upstream.socket.destroyed) return;
    this.#dialled = true;
    const { host = '127.0.0.1', port } = this.#target;
    this.#upstream.socket.connect({ host, port });
    this.#upstream.socket.setNoDelay(true);
    this.#down.open();
  }

  /** What ended by a reset or an error at one end ends by a reset at the other: at once, or when that way is thawed. */
  #passOnFailures(): void {
    if (this.#client.failed && !this.#up.frozen) reset(this.#upstream.socket);
    if (this.#upstream.failed && !this.#down.frozen) reset(this.#client.socket);
  }
}

function end(socket: Socket): End {
  const { promise, resolve } = Promise.withResolvers<void>();
  const result: End = { socket, closed: promise, failed: false };
  socket.on('error', () => {
    result.failed = true;
  });
  socket.once('close', () => resolve());
  return result;
}

/** RST, as soon as there is somebody to send it to. */
function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy();
}
