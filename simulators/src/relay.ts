/**
 * A TCP relay that misbehaves on command, so that a test can have the network faults that need no root: a black hole (everything stops,
 * and nobody is told), a thin pipe, an end in good order, a reset. What it relays it does not understand, TLS included.
 */

import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { ChangeSignal, type WaitOptions } from './change-signal.ts';
import {
  RelayedConnection,
  type LaneSettings,
  type RelayDirection,
  type RelayTarget,
} from './relayed-connection.ts';

export interface RelayOptions {
  /** Whom to connect each client to; a `RecordingServer` will do. */
  readonly target: RelayTarget;
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
}

export class Relay implements AsyncDisposable {
  readonly #target: RelayTarget;
  readonly #listener: net.Server;
  /** Each takes itself out when both its ends are closed. */
  readonly #connections = new Set<RelayedConnection>();
  readonly #changes = new ChangeSignal();
  #up: LaneSettings = { frozen: false, bytesPerSecond: undefined };
  #down: LaneSettings = { frozen: false, bytesPerSecond: undefined };
  #accepted = 0;
  #closing: Promise<void> | undefined;

  private constructor(target: RelayTarget, listener: net.Server) {
    this.#target = target;
    this.#listener = listener;
  }

  static async listen(options: RelayOptions): Promise<Relay> {
    const { target, host = '127.0.0.1', port = 0 } = options;
    const listener = net.createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
    const relay = new Relay(target, listener);
    listener.on('connection', (socket) => relay.#accept(socket));
    listener.listen({ host, port });
    await once(listener, 'listening');
    return relay;
  }

  get port(): number {
    const address = this.#listener.address();
    if (address === null || typeof address === 'string') throw new Error('The relay is closed');
    return address.port;
  }

  /** Relayed connections with at least one end open. */
  get open(): number {
    return this.#connections.size;
  }

  /** Connections accepted so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Resolves when exactly `count` are open. */
  async waitForOpen(count: number, options?: WaitOptions): Promise<void> {
    const describe = () => `${count} relayed; there are ${this.open} of ${this.#accepted} accepted`;
    return this.#changes.until(() => this.open === count, describe, options);
  }

  /**
   * A black hole: nothing is read or written that way any more, and neither end is told. New clients are still accepted, as the
   * operating system does that by itself, but with the way up frozen the target does not hear of them.
   */
  freeze(direction: RelayDirection = 'both'): void {
    this.#settings(direction, { frozen: true });
    for (const connection of this.#connections) connection.freeze(direction);
  }

  /** Ends the freezing: what has waited moves on, and ends that have died meanwhile are told of. */
  thaw(direction: RelayDirection = 'both'): void {
    this.#settings(direction, { frozen: false });
    for (const connection of this.#connections) connection.thaw(direction);
  }

  /** Limits each connection, each way; undefined lifts it. */
  throttle(bytesPerSecond: number | undefined, direction: RelayDirection = 'both'): void {
    this.#settings(direction, { bytesPerSecond });
    for (const connection of this.#connections) connection.throttle(bytesPerSecond, direction);
  }

  /** FIN to both ends of every connection that is open, frozen or not; the relay goes on listening. */
  cut(): void {
    for (const connection of this.#connections) connection.cut();
  }

  /** RST to both ends of every connection that is open, frozen or not; the relay goes on listening. */
  reset(): void {
    for (const connection of this.#connections) connection.reset();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    const connections = [...this.#connections];
    for (const connection of connections) connection.destroy();
    await Promise.all([closed, ...connections.map((connection) => connection.closed)]);
    this.#changes.fail(new Error('The relay was closed meanwhile'));
  }

  #settings(direction: RelayDirection, change: Partial<LaneSettings>): void {
    if (direction !== 'down') this.#up = { ...this.#up, ...change };
    if (direction !== 'up') this.#down = { ...this.#down, ...change };
  }

  #accept(socket: Socket): void {
    const connection = new RelayedConnection(socket, this.#target, this.#up, this.#down);
    this.#accepted += 1;
    this.#connections.add(connection);
    void connection.closed.then(() => {
      this.#connections.delete(connection);
      this.#changes.notify();
    });
    connection.open();
    this.#changes.notify();
  }
}
