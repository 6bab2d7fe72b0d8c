/**
 * The pool: from an endpoint's key to its transport. It owns every transport, and with them every socket and timer of
 * this package; closing it leaves nothing.
 */

import type { Dispatcher } from 'undici';
import { upgradeRefusalOf } from './admission.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { Connection } from './connection.ts';
import { PoolDispatcher } from './dispatcher.ts';
import { Endpoint } from './endpoint.ts';
import type { EndpointOptions } from './endpoint.ts';
import { TransportError } from './errors.ts';
import { Exchange } from './exchange.ts';
import { IdleConnections } from './idle-connections.ts';
import { Identity, checkSource } from './identity.ts';
import type { EndpointSource, IdentityOptions } from './identity.ts';
import { publishTransport } from './inspect.ts';
import type { PoolSnapshot, TransportSnapshot } from './inspect.ts';
import { Lease } from './lease.ts';
import { limitsOf } from './limits.ts';
import type { Limits, ProfileName } from './limits.ts';
import type { RequestOptions, ResponseHandler } from './request.ts';
import { Transport } from './transport.ts';
import type { TransportOwner } from './transport.ts';
import { Upgrade } from './upgrade.ts';
import type { UpgradeOptions, UpgradeOwner } from './upgrade.ts';

export interface PoolOptions {
  /** Default `apiClient`. */
  readonly profile?: ProfileName | undefined;
  /** Overrides single limits of the profile. */
  readonly limits?: Partial<Limits> | undefined;
  readonly clock?: Clock | undefined;
  /** From 0 to 1: spreads what must not happen in step. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

export interface CloseOptions {
  /** How long what is under way may go on. Default: the pool's `drainTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

export class TransportPool implements AsyncDisposable, TransportOwner, UpgradeOwner {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: () => number;
  #state: PoolSnapshot['state'] = 'open';
  /** Bounded by `maxTransports`; entries leave by eviction, by retirement and at the end. */
  readonly #transports = new Map<string, Transport>();
  /** Those of the map that nobody uses, the least recently used first. Bounded by `maxIdleTransports`. */
  readonly #unused = new Set<Transport>();
  /** Those that have left the map and still end what they carry. */
  readonly #draining = new Set<Transport>();
  /** Leave when they are closed. */
  readonly #identities = new Set<Identity>();
  /** Leave when they have ended. Bounded by `maxUpgrades`. */
  readonly #upgrades = new Set<Upgrade>();
  readonly #idle: IdleConnections;
  readonly #totals = {
    built: 0,
    hits: 0,
    evictions: 0,
    rotations: 0,
    refusedAtCapacity: 0,
    http2Refusals: 0,
    unansweredPings: 0,
    breakersOpened: 0,
    refusedWhileDown: 0,
  };
  #closing: Promise<void> | undefined;

  /** @throws ERR_RH_LIMITS_INVALID */
  constructor(options: PoolOptions = {}) {
    this.limits = limitsOf(options.profile ?? 'apiClient', options.limits ?? {});
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
    this.#idle = new IdleConnections(this.clock, this.limits);
  }

  get state(): PoolSnapshot['state'] {
    return this.#state;
  }

  /** @throws ERR_RH_AT_CAPACITY, ERR_RH_POOL_CLOSED */
  lease(endpoint: Endpoint): Lease {
    const transport = this.transportOf(endpoint);
    return new Lease(transport, {
      exchange: (options, handler) => this.begin(endpoint.origin, options, handler),
      upgrade: (options) => this.beginUpgrade(endpoint.origin, options),
    });
  }

  /**
   * A party that is spoken for, for instance one cluster: its endpoint may change (rotation) and end (removal), and
   * what is under way in its name follows.
   *
   * @param name for people, in snapshots; need not be unique
   * @param source the endpoint, or what finds it: called lazily, one at a time, and again after a failure; or the options of an
   * endpoint with a `MaterialSource`, which rotates it
   * @throws ERR_RH_POOL_CLOSED, ERR_RH_ENDPOINT_INVALID, ERR_RH_DIALER_UNIDENTIFIED
   */
  identity(name: string, source: EndpointSource, options: IdentityOptions = {}): Identity {
    this.#refuseWhenClosing();
    checkSource(source);
    const identity = new Identity(name, source, this, options);
    this.#identities.add(identity);
    return identity;
  }

  /** An undici dispatcher, for `fetch` and `request`, to whatever origin is asked for, with these TLS options. */
  dispatcher(options: Omit<EndpointOptions, 'url'> = {}): Dispatcher {
    return new PoolDispatcher((request, handler, origin) => {
      const endpoint = Endpoint.from({ ...options, url: origin });
      const exchange = this.begin(endpoint.origin, request, handler);
      if (exchange !== undefined) {
        this.submit(exchange, endpoint);
      }
    });
  }

  inspect(): PoolSnapshot {
    const users = this.#users();
    return {
      state: this.#state,
      limits: this.limits,
      transports: [...this.#transports.values(), ...this.#draining].map((transport) => ({
        ...transport.inspect(),
        identities: (users.get(transport) ?? []).map(({ name }) => name),
        generations: (users.get(transport) ?? []).map(({ generation }) => generation),
      })),
      totals: {
        transports: this.#transports.size,
        draining: this.#draining.size,
        identities: this.#identities.size,
        idleConnections: this.#idle.size,
        upgrades: this.#upgrades.size,
        ...this.#totals,
      },
    };
  }

  /** Which identities point at a transport, or have left something on it that is under way. */
  #users(): Map<Transport, Pick<Identity, 'name' | 'generation'>[]> {
    const users = new Map<Transport, Pick<Identity, 'name' | 'generation'>[]>();
    const add = (transport: Transport | undefined, name: string, generation: number): void => {
      if (transport !== undefined) {
        users.set(transport, [...(users.get(transport) ?? []), { name, generation }]);
      }
    };
    for (const { name, generation, endpoint, drains } of this.#identities) {
      add(endpoint && this.presentTransport(endpoint), name, generation);
      for (const drain of drains) {
        add(drain.transport, name, drain.generation);
      }
    }
    return users;
  }

  /**
   * Takes nothing new, lets what is under way end, cuts the rest at the limit with ERR_RH_DRAINED. Resolves when no
   * socket, timer or listener is left. Later calls get the same promise.
   */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.timeoutMs ?? this.limits.drainTimeoutMs);
    return this.#closing;
  }

  /** Cuts everything now. Resolves when no socket is left. */
  async destroy(reason?: Error): Promise<void> {
    const closing = this.close({ timeoutMs: Number.POSITIVE_INFINITY });
    this.#cut(new TransportError('ERR_RH_POOL_CLOSED', 'the pool was destroyed', { cause: reason }));
    await closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  // --- for leases, identities and dispatchers -----------------------------------------------------------------------

  /**
   * Makes an exchange and begins it; undefined when its caller gave up at once.
   *
   * @param origin for messages: where it goes, or on whose behalf
   */
  begin(origin: string, options: RequestOptions, handler: ResponseHandler): Exchange | undefined {
    const exchange = new Exchange(options, handler, {
      clock: this.clock,
      requestTimeoutMs: this.limits.requestTimeoutMs,
      readAheadBytes: this.limits.readAheadBytes,
      origin,
    });
    return exchange.begin() ? exchange : undefined;
  }

  /**
   * Makes an upgrade and begins it. It may have ended already: its caller gave up, or the pool has as many as it may.
   *
   * @param origin for messages
   */
  beginUpgrade(origin: string, options: UpgradeOptions): Upgrade {
    const { clock, limits } = this;
    const upgrade = new Upgrade(options, { clock, origin, requestTimeoutMs: limits.requestTimeoutMs });
    if (upgrade.begin()) {
      const refusal =
        this.refusal ?? upgradeRefusalOf(this.#upgrades.size, limits.maxUpgrades, 'of the pool');
      if (refusal === undefined) {
        this.#upgrades.add(upgrade);
        upgrade.owners.add(this);
      } else {
        upgrade.fail(refusal);
      }
    }
    return upgrade;
  }

  upgradeEnded(upgrade: Upgrade): void {
    this.#upgrades.delete(upgrade);
  }

  /** Hands it to the endpoint's transport; a refusal fails the upgrade. */
  submitUpgrade(upgrade: Upgrade, endpoint: Endpoint): void {
    if (upgrade.state === 'ended') {
      return;
    }
    try {
      this.transportOf(endpoint).upgrade(upgrade);
    } catch (error) {
      upgrade.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Why nothing new is taken; undefined while the pool is open. */
  get refusal(): TransportError | undefined {
    return this.#state === 'open'
      ? undefined
      : new TransportError('ERR_RH_POOL_CLOSED', `the pool is ${this.#state}`);
  }

  /** Hands it to the endpoint's transport; a refusal fails the exchange. */
  submit(exchange: Exchange, endpoint: Endpoint): void {
    let transport: Transport;
    try {
      transport = this.transportOf(endpoint);
    } catch (error) {
      exchange.fail(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    transport.submit(exchange);
  }

  /** @throws ERR_RH_AT_CAPACITY, ERR_RH_POOL_CLOSED */
  transportOf(endpoint: Endpoint): Transport {
    const present = this.#transports.get(endpoint.key);
    if (present !== undefined) {
      this.#totals.hits += 1;
      return present;
    }
    this.#refuseWhenClosing();
    if (this.#transports.size >= this.limits.maxTransports && !this.#evictOne()) {
      this.#totals.refusedAtCapacity += 1;
      throw new TransportError(
        'ERR_RH_AT_CAPACITY',
        `no transport to ${endpoint.origin}: all ${this.limits.maxTransports} are in use`,
      );
    }
    const transport = new Transport(endpoint, this.limits, this.clock, this);
    this.#transports.set(endpoint.key, transport);
    this.#totals.built += 1;
    publishTransport('opened', endpoint);
    this.transportUnused(transport);
    return transport;
  }

  /** Undefined when nobody has asked for it yet, or it has left the map. */
  presentTransport(endpoint: Endpoint): Transport | undefined {
    return this.#transports.get(endpoint.key);
  }

  protocolsOf(endpoint: Endpoint | undefined): TransportSnapshot['protocols'] {
    const transport = endpoint === undefined ? undefined : this.presentTransport(endpoint);
    return transport?.protocols ?? { unary: undefined, stream: undefined };
  }

  /** An identity points elsewhere now: what it pointed at ends, unless somebody else needs it. */
  released(endpoint: Endpoint, rotated: boolean): void {
    this.#totals.rotations += rotated ? 1 : 0;
    const transport = this.#transports.get(endpoint.key);
    if (transport === undefined || transport.isLeased) {
      return;
    }
    for (const identity of this.#identities) {
      if (identity.endpoint?.key === endpoint.key) {
        return;
      }
    }
    this.#retire(transport);
  }

  identityClosed(identity: Identity): void {
    this.#identities.delete(identity);
  }

  // --- what transports tell -----------------------------------------------------------------------------------------

  connectionIdle(connection: Connection): void {
    this.#idle.add(connection);
  }

  connectionBusy(connection: Connection): void {
    this.#idle.remove(connection);
  }

  transportUsed(transport: Transport): void {
    this.#unused.delete(transport);
  }

  transportUnused(transport: Transport): void {
    this.#unused.add(transport);
    while (this.#unused.size > this.limits.maxIdleTransports) {
      this.#evictOne();
    }
  }

  transportClosed(transport: Transport): void {
    this.#draining.delete(transport);
  }

  http2Refused(): void {
    this.#totals.http2Refusals += 1;
  }

  pingUnanswered(): void {
    this.#totals.unansweredPings += 1;
  }

  breakerOpened(): void {
    this.#totals.breakersOpened += 1;
  }

  refusedWhileDown(): void {
    this.#totals.refusedWhileDown += 1;
  }

  // --- inside -------------------------------------------------------------------------------------------------------

  #refuseWhenClosing(): void {
    const { refusal } = this;
    if (refusal !== undefined) {
      throw refusal;
    }
  }

  #evictOne(): boolean {
    const eldest = this.#unused.values().next().value;
    if (eldest === undefined) {
      return false;
    }
    this.#totals.evictions += 1;
    this.#retire(eldest);
    return true;
  }

  #retire(transport: Transport): void {
    this.#transports.delete(transport.endpoint.key);
    this.#unused.delete(transport);
    this.#draining.add(transport);
    transport.retire();
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#state = 'closing';
    const transports = [...this.#transports.values()];
    for (const transport of transports) {
      this.#retire(transport);
    }
    const cut = new TransportError('ERR_RH_DRAINED', `cut at the drain limit of ${timeoutMs} ms`);
    const timer = Number.isFinite(timeoutMs)
      ? this.clock.setTimeout(() => this.#cut(cut), timeoutMs)
      : undefined;
    await Promise.all([...this.#draining].map((transport) => transport.closed));
    timer?.cancel();
    await Promise.all([...this.#identities].map((identity) => identity.close()));
    this.#idle[Symbol.dispose]();
    this.#state = 'closed';
  }

  #cut(error: TransportError): void {
    for (const transport of this.#draining) {
      transport.destroy(error);
    }
  }
}
