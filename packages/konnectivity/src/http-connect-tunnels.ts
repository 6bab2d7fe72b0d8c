/** Tunnels as connections of their own, each asked for by HTTP CONNECT: what a proxy-server does that runs with `--mode=http-connect`. */

import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { nameOf } from './dial-target.ts';
import type { TunnelTarget } from './dial-target.ts';
import { TunnelError } from './errors.ts';
import { askConnect } from './http-connect.ts';
import { dialOneOf } from './redial.ts';
import { connectServer } from './session/connect-server.ts';
import type { ProxyServer, ServerSnapshot } from './session/proxy-server.ts';
import { ProxyServers } from './session/proxy-servers.ts';
import type { TargetPlace } from './target-places.ts';
import type { TunnelNumbers, Way, WayOptions } from './way.ts';

export class HttpConnectTunnels implements Way {
  readonly #options: WayOptions;
  readonly #servers: ProxyServers;
  /** Each leaves when it is closed; bounded by `maxTunnels`. The value tells whether it is one already, or is given up. */
  readonly #sockets = new Map<Socket, 'dialing' | 'open' | 'closing'>();

  constructor(options: WayOptions) {
    const { identity, resolve, clock, limits, counts, onChange } = options;
    this.#options = options;
    this.#servers = new ProxyServers({
      addresses: identity.addresses,
      resolve,
      clock,
      resolveMs: limits.resolveMs,
      server: {
        clock,
        limits,
        counts,
        onChange,
        open: () => Promise.reject(new TypeError('there are no sessions in this mode')),
      },
    });
  }

  get empty(): boolean {
    return this.#sockets.size === 0;
  }

  dial(target: TunnelTarget, place: TargetPlace, signal: AbortSignal): Promise<Duplex> {
    return dialOneOf(this.#servers, this.#options.counts, signal, (server) =>
      this.#attempt(server, target, place, signal),
    );
  }

  bottomOf(connection: Duplex): Duplex | undefined {
    return connection;
  }

  tunnels(): TunnelNumbers {
    const numbers = { dialing: 0, open: 0, closing: 0, bufferedBytes: 0 };
    for (const [socket, state] of this.#sockets) {
      numbers[state] += 1;
      numbers.bufferedBytes += socket.readableLength;
    }
    return numbers;
  }

  servers(): readonly ServerSnapshot[] {
    return this.#servers.inspect();
  }

  retire(): void {
    // No session is kept, so there is none to keep from new tunnels.
  }

  destroy(cause: Error): void {
    for (const socket of this.#sockets.keys()) {
      socket.destroy(cause);
    }
  }

  async #attempt(
    server: ProxyServer,
    target: TunnelTarget,
    place: TargetPlace,
    signal: AbortSignal,
  ): Promise<Socket> {
    const { identity } = this.#options;
    const { address, ip, name } = server.replica;
    const socket = await connectServer({ address, ip, identity, protocol: 'http/1.1' }, signal);
    this.#sockets.set(socket, 'dialing');
    server.counted(1);
    place.keep();
    socket.once('close', () => {
      this.#sockets.delete(socket);
      server.counted(-1);
      place.ended();
      this.#options.onChange();
    });
    try {
      await askConnect(socket, nameOf(target), name, signal);
    } catch (error) {
      if (signal.aborted) {
        this.#linger(socket);
      } else {
        socket.destroy();
      }
      throw error;
    }
    this.#sockets.set(socket, 'open');
    if (socket.destroyed) {
      throw new TunnelError(
        'ERR_RH_TUNNEL_DIAL_LOST',
        `${name} ended the tunnel to ${nameOf(target)} as soon as it was made`,
        { reason: 'tunnelclosed' },
      );
    }
    return socket;
  }
  /**
   * The answer is waited for although nobody wants it: of a client that leaves before it, a real proxy-server (v0.36.0) forgets the
   * connection that the agent has made, which then stays for ever.
   */
  #linger(socket: Socket): void {
    if (socket.destroyed) {
      return;
    }
    const { clock, limits } = this.#options;
    this.#sockets.set(socket, 'closing');
    const timer = clock.setTimeout(() => socket.destroy(), limits.lingerTimeoutMs);
    socket.once('close', () => timer.cancel());
    socket.on('readable', () => {
      if (socket.readableLength > 0 || socket.readableEnded) {
        socket.destroy();
      }
    });
    socket.once('end', () => socket.destroy());
  }
}
