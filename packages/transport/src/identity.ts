/**
 * A party on whose behalf requests are sent, for instance one cluster: an endpoint with a source. It points at the
 * transport of its present endpoint; several identities may point at one. Rotation moves this identity's pointer and
 * drains what is under way in its name; removal ends it. Others on the same transport feel neither.
 */

import type { Dispatcher } from 'undici';
import { PoolDispatcher } from './dispatcher.ts';
import { Drain } from './drain.ts';
import { Endpoint } from './endpoint.ts';
import type { EndpointOptions } from './endpoint.ts';
import { RoundhouseError, TransportError } from './errors.ts';
import type { Exchange, ExchangeParty } from './exchange.ts';
import type { TransportSnapshot } from './inspect.ts';
import type { Limits } from './limits.ts';
import type { MaterialFollower, MaterialSource } from './material/material-source.ts';
import type { TransportPool } from './pool.ts';
import type { RequestOptions, ResponseHandler } from './request.ts';
import { Transport } from './transport.ts';
import type { Upgrade, UpgradeAnswer, UpgradeOptions, UpgradeOwner } from './upgrade.ts';

/** An endpoint whose TLS material changes by itself; whenever its source has other material, that is a rotation. */
export interface FollowedEndpoint extends Omit<EndpointOptions, 'material'> {
  /** Followed from the first request on, until the identity is closed or rotated to something else. */
  readonly material: MaterialSource;
}

export type EndpointSource = Endpoint | FollowedEndpoint | (() => Endpoint | Promise<Endpoint>);

/** Limits in place of the pool's: of the drains of this identity. */
export interface IdentityOptions extends Partial<
  Pick<Limits, 'drainTimeoutMs' | 'upgradeDrainTimeoutMs' | 'drainSpreadMs'>
> {
  /**
   * Upgraded connections of a former generation: `drain`, the default, lets them go on until `upgradeDrainTimeoutMs`; `close` cuts
   * them at once.
   */
  readonly upgradePolicy?: 'drain' | 'close' | undefined;
}

export interface IdentityCloseOptions {
  /** How long what is under way may go on. Default 0: a removed party's streams end now. */
  readonly timeoutMs?: number | undefined;
  /** Becomes the cause of ERR_RH_IDENTITY_CLOSED. */
  readonly reason?: Error | undefined;
}

export class Identity implements AsyncDisposable, ExchangeParty, UpgradeOwner {
  readonly name: string;
  /** For undici's `fetch` and `request`; refuses any other origin than its own. */
  readonly dispatcher: Dispatcher;
  readonly #pool: TransportPool;
  readonly #options: IdentityOptions;
  #source: EndpointSource;
  /** Of the present source, once it was asked. */
  #follower: MaterialFollower | undefined;
  /** Resolves when the followers of former sources are gone. */
  #unfollowed: Promise<void> = Promise.resolve();
  /** What it points at: what the source gave last. */
  #endpoint: Endpoint | undefined;
  /** Whether the present source has given it. Until then nothing new is sent, and what is under way stays. */
  #found: boolean;
  #finding: Promise<Endpoint> | undefined;
  #generation = 1;
  /** - `closing`: what is under way goes on, and may still have to be found its endpoint. - `closed`: nothing is. */
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** What is under way in its name. Leaves when it is settled. */
  readonly #exchanges = new Set<Exchange>();
  /** Upgraded connections in its name, and those that are being asked for. Leave when their socket is gone. */
  readonly #upgrades = new Set<Upgrade>();
  /** Of former generations: they end by themselves or at the drain limit. */
  readonly #drains = new Set<Drain>();
  #closing: Promise<void> | undefined;
  #emptied: (() => void) | undefined;

  /** For `TransportPool.identity`. */
  constructor(name: string, source: EndpointSource, pool: TransportPool, options: IdentityOptions) {
    this.name = name;
    this.#pool = pool;
    this.#options = options;
    this.#source = source;
    this.#endpoint = source instanceof Endpoint ? source : undefined;
    this.#found = source instanceof Endpoint;
    this.dispatcher = new PoolDispatcher((request, handler, origin) => this.#start(request, handler, origin));
  }

  /** The present one; undefined until a source has found it. */
  get endpoint(): Endpoint | undefined {
    return this.#endpoint;
  }

  /** Counts the endpoints that it has had; a rotation to equal content is none. */
  get generation(): number {
    return this.#generation;
  }

  /** What requests of each kind go over; undefined where the next connection will tell. */
  get protocols(): TransportSnapshot['protocols'] {
    return this.#pool.protocolsOf(this.#endpoint);
  }

  get inFlight(): number {
    return this.#exchanges.size + this.#upgrades.size;
  }

  /** Former generations that still have something under way, the oldest first. */
  get drains(): Iterable<Pick<Drain, 'generation' | 'transport'>> {
    return this.#drains;
  }

  /** Never throws: whatever is wrong fails the exchange through its handler. */
  dispatch(options: RequestOptions, handler: ResponseHandler): void {
    this.#start(options, handler, undefined);
  }

  /**
   * Asks the server to go on in another protocol, over HTTP/1.1 and on a connection of its own: of the same endpoint, verified in
   * the same way, whatever its other connections speak. An answer that does not switch is no error.
   *
   * @throws ERR_RH_UPGRADE_LIMIT, ERR_RH_UPGRADE_INVALID, and all that a request can fail with before its answer
   */
  upgrade(options: UpgradeOptions): Promise<UpgradeAnswer> {
    const upgrade = this.#pool.beginUpgrade(this.#endpoint?.origin ?? this.name, options);
    if (upgrade.state !== 'ended' && this.#state !== 'open') {
      upgrade.fail(this.#closedError(undefined));
    }
    if (upgrade.state !== 'ended') {
      this.#upgrades.add(upgrade);
      upgrade.owners.add(this);
      this.#submitUpgrade(upgrade);
    }
    return upgrade.answer;
  }

  /**
   * From now on requests go to `source`. Equal content changes nothing. What waits moves over, idle connections of the
   * old endpoint close, what is under way has until the drain limit. A function, or a source of material, is asked at once if
   * there is something to move; while it fails, what is under way goes on as it was, and new requests fail with its reason.
   *
   * @throws ERR_RH_ENDPOINT_INVALID, ERR_RH_DIALER_UNIDENTIFIED
   */
  rotate(source: EndpointSource): void {
    if (this.#state !== 'open') {
      return;
    }
    checkSource(source);
    const former = this.#follower;
    this.#follower = undefined;
    this.#source = source;
    this.#finding = undefined;
    this.#turnTo(source);
    // After the next one has begun: the two may be of one source, which would stop in between.
    this.#unfollow(former);
  }

  #turnTo(source: EndpointSource): void {
    if (source instanceof Endpoint) {
      this.#pointAt(source);
      return;
    }
    this.#found = false;
    if (this.#endpoint !== undefined) {
      // A failure is for those who ask; the next request asks again.
      this.#find().catch(() => undefined);
    }
  }

  close(options: IdentityCloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options);
    return this.#closing;
  }

  async destroy(reason?: Error): Promise<void> {
    const closing = this.close({ reason });
    this.#failAll(this.#closedError(reason));
    await closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  exchangeSettled(exchange: Exchange): void {
    this.#exchanges.delete(exchange);
    this.#ended(exchange);
  }

  takesOver(exchange: Exchange): boolean {
    const { carrier } = exchange;
    const endpoint = this.#endpoint;
    if (
      endpoint === undefined ||
      !(carrier instanceof Transport) ||
      carrier.endpoint.key === endpoint.key ||
      !carrier.withdraw(exchange)
    ) {
      return false;
    }
    for (const drain of this.#drains) {
      drain.ended(exchange);
    }
    this.#pool.submit(exchange, endpoint);
    return true;
  }

  upgradeEnded(upgrade: Upgrade): void {
    this.#upgrades.delete(upgrade);
    this.#ended(upgrade);
  }

  #ended(ended: Exchange | Upgrade): void {
    for (const drain of this.#drains) {
      drain.ended(ended);
    }
    if (this.inFlight === 0) {
      this.#emptied?.();
    }
  }

  /** @param origin refuse the request if that is not where it would go */
  #start(options: RequestOptions, handler: ResponseHandler, origin: string | undefined): void {
    const exchange = this.#pool.begin(this.#endpoint?.origin ?? this.name, options, handler);
    if (exchange === undefined) {
      return;
    }
    const refusal = this.#pool.refusal ?? (this.#state === 'open' ? undefined : this.#closedError(undefined));
    if (refusal !== undefined) {
      exchange.fail(refusal);
      return;
    }
    exchange.identity = this;
    this.#exchanges.add(exchange);
    if (this.#endpoint !== undefined && this.#found) {
      this.#send(exchange, this.#endpoint, origin);
      return;
    }
    this.#find().then(
      (endpoint) => this.#send(exchange, endpoint, origin),
      (cause: unknown) => exchange.fail(this.#notFoundError(cause)),
    );
  }

  #send(exchange: Exchange, endpoint: Endpoint, origin: string | undefined): void {
    if (exchange.state === 'settled') {
      return;
    }
    if (origin !== undefined && URL.parse(origin)?.origin !== URL.parse(endpoint.origin)?.origin) {
      exchange.fail(
        new TransportError(
          'ERR_RH_REQUEST_INVALID',
          `${this.name} sends to ${endpoint.origin} only, not to ${origin}`,
        ),
      );
      return;
    }
    this.#pool.submit(exchange, endpoint);
  }

  /** At once, or as soon as there is an endpoint: never to one that was left meanwhile, whose drain would not know of it. */
  #submitUpgrade(upgrade: Upgrade): void {
    if (this.#endpoint !== undefined && this.#found) {
      this.#pool.submitUpgrade(upgrade, this.#endpoint);
      return;
    }
    this.#find().then(
      () => this.#submitUpgrade(upgrade),
      (cause: unknown) => upgrade.fail(this.#notFoundError(cause)),
    );
  }

  /** Single-flight; a failure goes to those who wait and is not remembered. */
  #find(): Promise<Endpoint> {
    this.#finding ??= this.#ask(this.#source);
    return this.#finding;
  }

  async #ask(source: EndpointSource): Promise<Endpoint> {
    this.#refuseWhenClosed();
    try {
      const found = await this.#foundBy(source);
      this.#refuseWhenClosed();
      if (this.#source === source) {
        this.#finding = undefined;
        // What has changed while it was waited for has not pointed anywhere yet.
        const endpoint = isFollowed(source) ? endpointOf(source) : found;
        this.#pointAt(endpoint);
        return endpoint;
      }
    } catch (cause) {
      if (this.#source === source) {
        this.#finding = undefined;
        throw cause;
      }
    }
    // Rotated meanwhile: what that source said is of no interest any more.
    return this.#find();
  }

  /** Whoever was waited for at the end may answer after it: then nothing is followed or pointed at that nobody would leave again. */
  #refuseWhenClosed(): void {
    if (this.#state === 'closed') {
      throw this.#closedError(undefined);
    }
  }

  async #foundBy(source: EndpointSource): Promise<Endpoint> {
    if (source instanceof Endpoint) {
      return source;
    }
    if (typeof source === 'function') {
      return await source();
    }
    this.#follower ??= source.material.follow({
      changed: () => {
        if (this.#source === source && this.#state === 'open') {
          this.#pointAt(endpointOf(source));
        }
      },
    });
    await this.#follower.ready();
    return endpointOf(source);
  }

  #unfollow(follower: MaterialFollower | undefined): void {
    if (follower !== undefined) {
      const former = this.#unfollowed;
      // Nothing of those before is kept.
      this.#unfollowed = follower[Symbol.asyncDispose]().then(() => former);
    }
  }

  #pointAt(endpoint: Endpoint): void {
    const former = this.#endpoint;
    this.#found = true;
    if (former?.key === endpoint.key) {
      return;
    }
    this.#endpoint = endpoint;
    if (former !== undefined) {
      this.#generation += 1;
      this.#leave(former, endpoint);
    }
  }

  #leave(former: Endpoint, next: Endpoint): void {
    const waiting: Exchange[] = [];
    const running: Exchange[] = [];
    for (const exchange of this.#exchanges) {
      if (exchange.carrier instanceof Transport) {
        (exchange.carrier.withdraw(exchange) ? waiting : running).push(exchange);
      }
    }
    const transport = this.#pool.presentTransport(former);
    this.#pool.released(former, true);
    for (const exchange of waiting) {
      this.#pool.submit(exchange, next);
    }
    const { drainTimeoutMs, upgradeDrainTimeoutMs } = { ...this.#pool.limits, ...this.#drainLimits };
    this.#drain(running, drainTimeoutMs, transport);
    // Those that wait for an endpoint will go to the next one.
    const upgrades = [...this.#upgrades].filter(({ state }) => state !== 'waiting');
    this.#drain(upgrades, upgradeDrainTimeoutMs, transport);
  }

  get #drainLimits(): Partial<Limits> {
    const { upgradePolicy, ...limits } = this.#options;
    const given = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
    return upgradePolicy === 'close' ? { ...given, upgradeDrainTimeoutMs: 0 } : given;
  }

  #drain(
    candidates: Iterable<Exchange | Upgrade>,
    timeoutMs: number,
    transport: Transport | undefined,
  ): void {
    const { clock, random, limits } = this.#pool;
    const drains = [...this.#drains];
    // What a former rotation has left behind already keeps the limit that it was given then.
    const running = [...candidates].filter((candidate) => !drains.some((drain) => drain.has(candidate)));
    if (running.length > 0) {
      this.#drains.add(
        new Drain(running, {
          name: this.name,
          generation: this.#generation - 1,
          transport,
          timeoutMs,
          spreadMs: this.#options.drainSpreadMs ?? limits.drainSpreadMs,
          clock,
          random,
          onOver: (drain) => this.#drains.delete(drain),
        }),
      );
    }
  }

  async #close({ timeoutMs = 0, reason }: IdentityCloseOptions): Promise<void> {
    this.#state = 'closing';
    const error = this.#closedError(reason);
    if (this.inFlight > 0 && timeoutMs > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#emptied = resolve;
      const timer = this.#pool.clock.setTimeout(() => this.#failAll(error), timeoutMs);
      await promise;
      timer.cancel();
    }
    this.#state = 'closed';
    this.#failAll(error);
    this.#pool.identityClosed(this);
    if (this.#endpoint !== undefined) {
      this.#pool.released(this.#endpoint, false);
    }
    this.#unfollow(this.#follower);
    this.#follower = undefined;
    await this.#unfollowed;
  }

  #failAll(error: TransportError): void {
    for (const exchange of [...this.#exchanges, ...this.#upgrades]) {
      exchange.fail(error);
    }
  }

  #closedError(reason: Error | undefined): TransportError {
    return new TransportError('ERR_RH_IDENTITY_CLOSED', `${this.name} was removed`, { cause: reason });
  }

  #notFoundError(cause: unknown): RoundhouseError {
    return RoundhouseError.is(cause)
      ? cause
      : new TransportError('ERR_RH_DIAL_FAILED', `no endpoint for ${this.name} could be found`, { cause });
  }
}

function isFollowed(source: EndpointSource): source is FollowedEndpoint {
  return typeof source !== 'function' && !(source instanceof Endpoint);
}

/** Of the material that is in use now. */
function endpointOf({ material, ...options }: FollowedEndpoint): Endpoint {
  return Endpoint.from({ ...options, material: material.material });
}

/** What is wrong with the rest of an endpoint shows before its material is there. */
export function checkSource(source: EndpointSource): void {
  if (isFollowed(source)) {
    Endpoint.from({ ...source, material: undefined });
  }
}
