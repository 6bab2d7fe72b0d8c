/**
 * The proxy-servers that lead to the same agents: addresses, what their names resolve to now, and who is asked next. A name is looked up
 * again when a session is needed and the last look is old, or something has failed since.
 */

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Clock } from '../clock.ts';
import { nameOf } from '../dial-target.ts';
import { TunnelError, wordsOf } from '../errors.ts';
import type { ServerAddress } from '../server-address.ts';
import { ProxyServer } from './proxy-server.ts';
import type { ProxyServerOptions, Replica, ServerSnapshot } from './proxy-server.ts';

/** The IP addresses of a host. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export interface ProxyServersOptions {
  readonly addresses: readonly ServerAddress[];
  readonly resolve: Resolve;
  readonly clock: Clock;
  readonly resolveMs: number;
  readonly server: ProxyServerOptions;
}

/** More addresses of one name than these are not looked at. */
const maxReplicasPerName = 64;

export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

export class ProxyServers {
  readonly #options: ProxyServersOptions;
  /** By name. One that is no longer resolved leaves with its last session. */
  readonly #servers = new Map<string, ProxyServer>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #present: ReadonlySet<string> = new Set();
  #failure: unknown;

  constructor(options: ProxyServersOptions) {
    this.#options = options;
  }

  /** Looks names up again before the next session. */
  expire(): void {
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * The one to ask next: of those that are not among `but` and have not just failed, the one with the fewest tunnels. Undefined when
   * there is no other.
   *
   * @throws ERR_RH_TUNNEL_SERVER when no name could be resolved, and the signal's reason
   */
  async next(but: ReadonlySet<ProxyServer>, signal: AbortSignal): Promise<ProxyServer | undefined> {
    const age = this.#options.clock.now() - this.#lookedAt;
    const warm = but.size === 0 && [...this.#servers.values()].some((server) => server.hasRoom);
    if (age >= this.#options.resolveMs && !warm) {
      await this.#look(signal);
    }
    const servers = [...this.#present].flatMap((name) => this.#servers.get(name) ?? []);
    if (servers.length === 0) {
      throw this.#failure;
    }
    const others = servers.filter((server) => !but.has(server));
    const awake = others.filter((server) => !server.resting);
    return (awake.length > 0 ? awake : others).reduce<ProxyServer | undefined>(
      (best, server) => (best === undefined || server.tunnels < best.tunnels ? server : best),
      undefined,
    );
  }

  /** Those that have something open, or could have. */
  all(): readonly ProxyServer[] {
    return [...this.#servers.values()];
  }

  inspect(): readonly ServerSnapshot[] {
    return this.all().map((server) => server.inspect());
  }

  /** Drops those that are gone and have nothing open. */
  sweep(): void {
    for (const [name, server] of this.#servers) {
      if (!this.#present.has(name) && server.empty) {
        this.#servers.delete(name);
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    this.#looking ??= this.#resolveAll().finally(() => {
      this.#looking = undefined;
    });
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([this.#looking, promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Never rejects: a name that cannot be resolved keeps what it had. */
  async #resolveAll(): Promise<void> {
    const { addresses, clock } = this.#options;
    const found = await Promise.all(addresses.map((address) => this.#replicasOf(address)));
    this.#lookedAt = clock.now();
    const present = new Set<string>();
    for (const replica of found.flat()) {
      present.add(replica.name);
      const known = this.#servers.get(replica.name);
      if (known === undefined) {
        this.#servers.set(replica.name, new ProxyServer(replica, this.#options.server));
      } else {
        known.restore();
      }
    }
    this.#present = present;
    for (const [name, server] of this.#servers) {
      if (!present.has(name)) {
        server.retire('its address is gone');
      }
    }
    this.sweep();
  }

  async #replicasOf(address: ServerAddress): Promise<readonly Replica[]> {
    if (address.kind === 'unix' || isIP(address.host) !== 0) {
      return [{ address, ip: undefined, name: address.name }];
    }
    try {
      const ips = [...new Set(await this.#options.resolve(address.host))].slice(0, maxReplicasPerName);
      if (ips.length === 0) {
        throw new Error('it has no address');
      }
      return ips.map((ip) => ({
        address,
        ip,
        name: `${address.name} (${nameOf({ host: ip, port: address.port })})`,
      }));
    } catch (cause) {
      this.#failure = new TunnelError(
        'ERR_RH_TUNNEL_SERVER',
        `the name of the proxy-server ${address.name} could not be resolved: ${
          cause instanceof Error ? wordsOf(cause.message) : ''
        }`,
        { cause, reason: 'streamsetup' },
      );
      return this.all()
        .filter((server) => server.replica.address === address && this.#present.has(server.replica.name))
        .map(({ replica }) => replica);
    }
  }
}
