/**
 * The connections of one endpoint: which are idle, which work, how many may be opened, and who waits. It owns its
 * connections, its dials and the exchanges that it carries; when it is closed, none of them is left.
 */

import { refusalOf } from './admission.ts';
import type { Clock } from './clock.ts';
import type { Connection, ConnectionOwner } from './connection.ts';
import { ConnectionBounds } from './connection-bounds.ts';
import type { Stock } from './connection-bounds.ts';
import { Connections } from './connections.ts';
import { DialBreaker } from './dial-breaker.ts';
import type { BreakerOwner } from './dial-breaker.ts';
import { Dialing } from './dialing.ts';
import { Dials } from './dials.ts';
import type { DialsOwner } from './dials.ts';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import type { Exchange, ExchangeCarrier } from './exchange.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http2Connection } from './http2-connection.ts';
import { endpointFacts, publishConnection, publishTransport } from './inspect.ts';
import type { TransportSnapshot } from './inspect.ts';
import type { Limits } from './limits.ts';
import { ProtocolChoice } from './protocol-choice.ts';
import { requestKinds } from './request.ts';
import type { RequestKind } from './request.ts';
import type { DialedSocket } from './secure-dial.ts';
import type { Upgrade } from './upgrade.ts';
import { Upgrades } from './upgrades.ts';
import { WaitingList } from './waiting-list.ts';

/** - `open`: takes requests. - `draining`: ends what it has. - `closed`: holds nothing. */
export type TransportState = 'open' | 'draining' | 'closed';

/** The pool, as its transports see it. */
export interface TransportOwner extends BreakerOwner {
  connectionIdle(connection: Connection): void;
  connectionBusy(connection: Connection): void;
  /** The first exchange or lease has come. */
  transportUsed(transport: Transport): void;
  /** The last exchange or lease has gone. */
  transportUnused(transport: Transport): void;
  transportClosed(transport: Transport): void;
  /** For its totals. */
  http2Refused(): void;
  pingUnanswered(): void;
}

export class Transport implements ConnectionOwner, DialsOwner, ExchangeCarrier {
  readonly endpoint: Endpoint;
  readonly createdAt: number;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #owner: TransportOwner;
  #state: TransportState = 'open';
  readonly #protocols: ProtocolChoice;
  readonly #connections = new Connections();
  readonly #breaker: DialBreaker;
  readonly #dials: Dials;
  readonly #exchanges = new Set<Exchange>();
  readonly #upgrades: Upgrades;
  readonly #waiting: WaitingList;
  readonly #bounds: ConnectionBounds;
  readonly #dialing: Dialing;
  #streams = 0;
  #leases = 0;
  #lastUsedAt: number;
  #requestsTotal = 0;
  readonly #closed = Promise.withResolvers<void>();

  constructor(endpoint: Endpoint, limits: Limits, clock: Clock, owner: TransportOwner) {
    this.endpoint = endpoint;
    this.#limits = limits;
    this.#clock = clock;
    this.#owner = owner;
    this.#protocols = new ProtocolChoice(endpoint.alpn, clock, limits.http2BackOffMs);
    this.#breaker = new DialBreaker(endpoint.origin, limits, clock, owner);
    this.#dials = new Dials(endpoint, clock, limits.dialTimeoutMs, this.#breaker, this);
    this.#waiting = new WaitingList(limits, clock, endpoint.origin, (kind) => this.#dials.sizeOf(kind));
    const stock: Stock = {
      connections: this.#connections,
      dials: this.#dials,
      waiting: this.#waiting,
      protocols: this.#protocols,
    };
    this.#bounds = new ConnectionBounds(limits, stock);
    this.#dialing = new Dialing(stock, this.#bounds, this.#breaker, clock);
    this.#upgrades = new Upgrades(endpoint, this.#dials, limits.maxUpgradesPerHost, () => {
      this.#lastUsedAt = clock.now();
      this.#leaveIfUnused();
    });
    this.createdAt = clock.now();
    this.#lastUsedAt = this.createdAt;
  }

  get state(): TransportState {
    return this.#state;
  }

  get inUse(): boolean {
    return this.#exchanges.size > 0 || this.#upgrades.size > 0 || this.#leases > 0;
  }

  get protocols(): TransportSnapshot['protocols'] {
    return { unary: this.#protocols.of('unary'), stream: this.#protocols.of('stream') };
  }

  get isLeased(): boolean {
    return this.#leases > 0;
  }

  /** Resolves when the last socket is gone after `retire()` or `destroy()`. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  leased(): void {
    this.#use(() => (this.#leases += 1));
  }

  unleased(): void {
    this.#leases -= 1;
    this.#leaveIfUnused();
  }

  /** Takes an exchange and carries it until it is settled. Never throws: a refusal fails the exchange. */
  submit(exchange: Exchange): void {
    const refusal = this.#closingRefusal() ?? this.#refusalOf(exchange.kind);
    const givesWay = refusal?.code === 'ERR_RH_QUEUE_FULL' ? this.#waiting.outnumbering(exchange) : undefined;
    if (refusal !== undefined && givesWay === undefined) {
      exchange.fail(refusal);
      return;
    }
    exchange.carrier = this;
    this.#lastUsedAt = this.#clock.now();
    this.#requestsTotal += 1;
    this.#use(() => this.#exchanges.add(exchange));
    this.#streams += exchange.kind === 'stream' ? 1 : 0;
    this.resubmit(exchange);
    if (refusal !== undefined) {
      // Last, since whoever is told may ask for the same again at once.
      givesWay?.fail(refusal);
    }
  }

  /** For an exchange that is carried already and must be sent once more. */
  resubmit(exchange: Exchange): void {
    const connection = exchange.needsFreshConnection
      ? undefined
      : this.#connections.available(exchange.kind, this.#protocols);
    if (connection !== undefined) {
      this.#assign(connection, exchange);
      return;
    }
    this.#waiting.add(exchange);
    this.#dialing.forWaiting();
  }

  /**
   * Opens a connection of its own for it, of the same trust and the same TLS sessions as the others. Never throws: a refusal
   * fails the upgrade.
   */
  upgrade(upgrade: Upgrade): void {
    const refusal = this.#closingRefusal() ?? this.#upgrades.refusal;
    if (refusal !== undefined) {
      upgrade.fail(refusal);
      return;
    }
    this.#lastUsedAt = this.#clock.now();
    this.#requestsTotal += 1;
    this.#use(() => this.#upgrades.start(upgrade));
  }

  /** Takes back an exchange that still waits, so that another transport can carry it. False if it is on its way. */
  withdraw(exchange: Exchange): boolean {
    if (exchange.state !== 'waiting' || !this.#exchanges.has(exchange)) {
      return false;
    }
    exchange.waitTimer?.cancel();
    exchange.waitTimer = undefined;
    exchange.carrier = undefined;
    this.exchangeSettled(exchange);
    return true;
  }

  exchangeSettled(exchange: Exchange): void {
    if (!this.#exchanges.delete(exchange)) {
      return;
    }
    this.#waiting.remove(exchange);
    this.#streams -= exchange.kind === 'stream' ? 1 : 0;
    this.#lastUsedAt = this.#clock.now();
    this.#dropUnwantedDials();
    this.#dialing.waitsLess();
    this.#leaveIfUnused();
  }

  /** Takes no new exchange, closes what is idle, lets the rest end by itself. Idempotent. */
  retire(): void {
    if (this.#state !== 'open') {
      return;
    }
    this.#state = 'draining';
    publishTransport('draining', this.endpoint);
    if (this.#exchanges.size === 0) {
      this.#retireConnections();
    } else {
      for (const connection of this.#connections) {
        if (connection.state === 'idle' && this.#waiting.size === 0) {
          connection.retire();
        }
      }
    }
    this.#closeIfEmpty();
  }

  /** Cuts everything. What was carried fails with `error`. Idempotent. */
  destroy(error: TransportError): void {
    if (this.#state === 'closed') {
      return;
    }
    this.#state = 'draining';
    for (const exchange of this.#exchanges) {
      exchange.fail(error);
    }
    this.#upgrades.failAll(error);
    this.#dials.cancelAll(error);
    for (const connection of this.#connections) {
      connection.destroy(error);
    }
    this.#closeIfEmpty();
  }

  // --- what connections tell ---------------------------------------------------------------------------------------

  connectionHasRoom(connection: Connection): void {
    if (this.#waiting.size > 0) {
      this.#offer(connection);
    }
  }

  connectionReleased(connection: Connection, kind: RequestKind): void {
    this.#connections.released(connection, kind);
    this.#offer(connection);
  }

  connectionRetiring(connection: Connection): void {
    this.#connections.retired(connection);
    this.#owner.connectionBusy(connection);
    this.#dialing.forWaiting();
  }

  connectionClosed(connection: Connection): void {
    this.#owner.connectionBusy(connection);
    if (this.#connections.remove(connection)) {
      publishConnection('closed', this.endpoint, connection);
    }
    this.#dialing.forWaiting();
    this.#closeIfEmpty();
  }

  http2Refused(): void {
    this.#protocols.http2Refused();
    this.#owner.http2Refused();
  }

  pingUnanswered(): void {
    this.#owner.pingUnanswered();
  }

  // --- placing exchanges --------------------------------------------------------------------------------------------

  #closingRefusal(): TransportError | undefined {
    return this.#state === 'open'
      ? undefined
      : new TransportError('ERR_RH_POOL_CLOSED', `the transport to ${this.endpoint.origin} is closing`);
  }

  #refusalOf(kind: RequestKind): TransportError | undefined {
    const waiting = this.#waiting.sizeOf('unary') - this.#dials.sizeOf('unary');
    return refusalOf(kind, { streams: this.#streams, waiting }, this.#limits, this.endpoint.origin);
  }

  #assign(connection: Connection, exchange: Exchange): void {
    this.#waiting.remove(exchange);
    this.#dialing.waitsLess();
    this.#connections.occupied(connection, exchange.kind);
    this.#owner.connectionBusy(connection);
    exchange.assigned(connection);
    connection.send(exchange, this.#clock.now());
  }

  /** A connection has room: for those who wait, else it is idle. */
  #offer(connection: Connection): void {
    for (const kind of requestKinds) {
      while (connection.hasRoom(kind) && this.#bounds.mayTake(connection, kind)) {
        const exchange = this.#waiting.take(kind, connection.kept);
        if (exchange === undefined) {
          break;
        }
        this.#assign(connection, exchange);
      }
    }
    if (connection.socket.destroyed) {
      this.#dialing.forWaiting();
      return;
    }
    if (connection.state !== 'idle') {
      return;
    }
    const draining = this.#state !== 'open' && this.#waiting.size === 0;
    // At the limit it would stand in the way of a new one, for which somebody waits.
    const inTheWay = this.#waiting.needsFreshConnection && !this.#bounds.mayDial('unary');
    if (draining || inTheWay || this.#bounds.isSurplus(connection)) {
      connection.retire();
    } else {
      this.#keepIdle(connection);
    }
  }

  #keepIdle(connection: Connection): void {
    // The endpoint's own bound first: a connection that it drops must not push another endpoint's out of the pool.
    this.#connections.keepIdle(connection, this.#limits.maxIdlePerHost)?.retire();
    if (connection.state === 'idle') {
      this.#owner.connectionIdle(connection);
    }
  }

  #retireConnections(): void {
    this.#dials.cancelAll(new TransportError('ERR_RH_POOL_CLOSED', 'the connection is no longer needed'));
    for (const connection of this.#connections) {
      connection.retire();
    }
  }

  // --- dialing ------------------------------------------------------------------------------------------------------

  dialed({ socket, protocol }: DialedSocket, kind: RequestKind): void {
    if (this.#state === 'closed') {
      socket.destroy();
      return;
    }
    this.#protocols.agreed(kind, protocol);
    const connection =
      protocol === 'h2'
        ? new Http2Connection(socket, this.endpoint, this, {
            clock: this.#clock,
            limits: this.#limits,
            streamShare: this.#protocols.streamShare,
          })
        : new Http1Connection(socket, this.endpoint, this, this.#clock, this.#limits.idleTimeoutMs);
    this.#connections.add(connection);
    publishConnection('opened', this.endpoint, connection);
    this.#offer(connection);
    this.#dialing.forWaiting();
  }

  dialFailed(kind: RequestKind, error: TransportError): void {
    // While other connections live, one failed dial is one request's failure. Without any it is the answer to all who
    // waited for it: each of them would only dial into the same.
    const alone = this.#connections.size === 0;
    const failed = alone ? this.#waiting.takeAll() : [this.#waiting.take(kind, false)];
    // Taken first: whoever is told may ask for the same again at once, and that is a dial of its own.
    for (const exchange of failed) {
      exchange?.fail(error);
    }
    this.#dialing.forWaiting();
    this.#closeIfEmpty();
  }

  dialCancelled(): void {
    this.#dialing.forWaiting();
    this.#closeIfEmpty();
  }

  /** Nobody waits any more, for instance since all gave up: what is still being dialed would have no use. */
  #dropUnwantedDials(): void {
    if (this.#dials.size > 0 && this.#waiting.size === 0 && this.#exchanges.size === 0) {
      this.#dials.cancelAll(new TransportError('ERR_RH_ABORTED', 'nobody waits for the connection any more'));
    }
  }

  // --- lifetime -----------------------------------------------------------------------------------------------------

  #use(enter: () => void): void {
    const wasUnused = !this.inUse;
    enter();
    if (wasUnused) {
      this.#owner.transportUsed(this);
    }
  }

  #leaveIfUnused(): void {
    if (this.inUse) {
      return;
    }
    if (this.#state === 'open') {
      this.#owner.transportUnused(this);
    } else {
      this.#retireConnections();
      this.#closeIfEmpty();
    }
  }

  #closeIfEmpty(): void {
    if (
      this.#state === 'draining' &&
      this.#connections.size === 0 &&
      this.#dials.size === 0 &&
      this.#exchanges.size === 0 &&
      this.#upgrades.size === 0
    ) {
      this.#state = 'closed';
      publishTransport('closed', this.endpoint);
      this.#owner.transportClosed(this);
      this.#closed.resolve();
    }
  }

  /** Numbers and names only; see `inspect.ts`. */
  inspect(): TransportSnapshot {
    return {
      ...endpointFacts(this.endpoint),
      protocols: this.protocols,
      state: this.#state,
      breaker: this.#breaker.state,
      connections: { opening: this.#dials.size, ...this.#connections.count() },
      http2: this.#connections.http2(),
      requests: this.#exchanges.size - this.#streams,
      streams: this.#streams,
      waiting: this.#waiting.size,
      upgrades: this.#upgrades.size,
      leases: this.#leases,
      dials: this.#dials.counters.started,
      dialFailures: this.#dials.counters.failed,
      resumptions: this.#dials.counters.resumed,
      requestsTotal: this.#requestsTotal,
      ...this.#connections.bytes(),
      createdAt: new Date(this.createdAt).toISOString(),
      lastUsedAt: new Date(this.#lastUsedAt).toISOString(),
    };
  }
}
