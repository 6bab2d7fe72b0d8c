/**
 * The connections of one endpoint: which are idle, which work, how many may be opened, and who waits. It owns its
 * connections, its dials and the exchanges that it carries; when it is closed, none of them is left.
 */

import type { Clock } from './clock.ts';
import type { Connection, ConnectionOwner } from './connection.ts';
import { Dial } from './dial.ts';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import type { Exchange, ExchangeCarrier } from './exchange.ts';
import { Http1Connection } from './http1-connection.ts';
import { Http2Connection } from './http2-connection.ts';
import { publishConnection, publishTransport } from './inspect.ts';
import type { TransportSnapshot } from './inspect.ts';
import type { Limits } from './limits.ts';
import type { RequestKind } from './request.ts';
import { createTlsState } from './secure-dial.ts';
import type { DialedSocket, TlsState } from './secure-dial.ts';
import { WaitingList } from './waiting-list.ts';

/** - `open`: takes requests. - `draining`: ends what it has. - `closed`: holds nothing. */
export type TransportState = 'open' | 'draining' | 'closed';

/** The pool, as its transports see it. */
export interface TransportOwner {
  connectionIdle(connection: Connection): void;
  connectionBusy(connection: Connection): void;
  /** The first exchange or lease has come. */
  transportUsed(transport: Transport): void;
  /** The last exchange or lease has gone. */
  transportUnused(transport: Transport): void;
  transportClosed(transport: Transport): void;
}

const kinds: readonly RequestKind[] = ['unary', 'stream'];

export class Transport implements ConnectionOwner, ExchangeCarrier {
  readonly endpoint: Endpoint;
  readonly createdAt: number;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #owner: TransportOwner;
  #state: TransportState = 'open';
  #tls: TlsState | undefined;
  #protocol: 'http/1.1' | 'h2' | undefined;
  readonly #connections = new Set<Connection>();
  /** HTTP/1.1 connections that are idle, the most recently used last. */
  readonly #idle: Connection[] = [];
  readonly #sessions = new Set<Connection>();
  readonly #dials = new Set<Dial>();
  readonly #dialing: Record<RequestKind, number> = { unary: 0, stream: 0 };
  readonly #exchanges = new Set<Exchange>();
  readonly #waiting = new WaitingList();
  /** HTTP/1.1 connections at work, by the kind of their exchange. */
  readonly #working: Record<RequestKind, number> = { unary: 0, stream: 0 };
  #streams = 0;
  #leases = 0;
  #lastUsedAt: number;
  readonly #totals = { dials: 0, dialFailures: 0, resumptions: 0, requests: 0, bytesIn: 0, bytesOut: 0 };
  readonly #closed = Promise.withResolvers<void>();

  constructor(endpoint: Endpoint, limits: Limits, clock: Clock, owner: TransportOwner) {
    this.endpoint = endpoint;
    this.#limits = limits;
    this.#clock = clock;
    this.#owner = owner;
    this.createdAt = clock.now();
    this.#lastUsedAt = this.createdAt;
  }

  get state(): TransportState {
    return this.#state;
  }

  get inUse(): boolean {
    return this.#exchanges.size > 0 || this.#leases > 0;
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
    if (this.#state !== 'open') {
      exchange.fail(
        new TransportError('ERR_RH_POOL_CLOSED', `the transport to ${this.endpoint.origin} is closing`),
      );
      return;
    }
    const refusal = this.#refusalOf(exchange);
    if (refusal !== undefined) {
      exchange.fail(refusal);
      return;
    }
    exchange.carrier = this;
    this.#lastUsedAt = this.#clock.now();
    this.#totals.requests += 1;
    this.#use(() => this.#exchanges.add(exchange));
    this.#streams += exchange.kind === 'stream' ? 1 : 0;
    this.resubmit(exchange);
  }

  /** For an exchange that is carried already and must be sent once more. */
  resubmit(exchange: Exchange): void {
    const connection = exchange.needsFreshConnection ? undefined : this.#available(exchange.kind);
    if (connection !== undefined) {
      this.#assign(connection, exchange);
      return;
    }
    this.#waiting.add(exchange);
    this.#boundWait(exchange, this.#limits.maxWaitMs);
    this.#dialForWaiting();
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
    for (const exchange of [...this.#exchanges]) {
      exchange.fail(error);
    }
    for (const dial of this.#dials) {
      dial.cancel(error);
    }
    for (const connection of [...this.#connections]) {
      this.#forgetIdle(connection);
      connection.destroy(error);
    }
    this.#closeIfEmpty();
  }

  // --- what connections tell ---------------------------------------------------------------------------------------

  connectionReleased(connection: Connection, kind: RequestKind): void {
    if (connection.protocol === 'http/1.1') {
      this.#working[kind] -= 1;
    }
    this.#offer(connection);
  }

  connectionRetiring(connection: Connection): void {
    this.#forgetIdle(connection);
    this.#dialForWaiting();
  }

  connectionClosed(connection: Connection): void {
    this.#forgetIdle(connection);
    this.#sessions.delete(connection);
    if (this.#connections.delete(connection)) {
      this.#totals.bytesIn += bytesOf(connection, 'bytesRead');
      this.#totals.bytesOut += bytesOf(connection, 'bytesWritten');
      publishConnection('closed', this.endpoint, connection);
    }
    this.#dialForWaiting();
    this.#closeIfEmpty();
  }

  // --- placing exchanges --------------------------------------------------------------------------------------------

  #refusalOf(exchange: Exchange): TransportError | undefined {
    const { origin } = this.endpoint;
    const { maxStreamsPerHost, maxWaitingPerHost } = this.#limits;
    if (exchange.kind === 'stream') {
      return this.#streams < maxStreamsPerHost
        ? undefined
        : new TransportError(
            'ERR_RH_STREAM_LIMIT',
            `${maxStreamsPerHost} streams to ${origin} are open already`,
          );
    }
    // Those for whom a dial is under way do not wait for others.
    const waiting = this.#waiting.sizeOf('unary') - this.#dialing.unary;
    return waiting < maxWaitingPerHost
      ? undefined
      : new TransportError(
          'ERR_RH_QUEUE_FULL',
          `${maxWaitingPerHost} requests wait for a connection to ${origin} already`,
        );
  }

  #available(kind: RequestKind): Connection | undefined {
    for (const session of this.#sessions) {
      if (session.hasRoom(kind)) {
        return session;
      }
    }
    return this.#idle.findLast((connection) => connection.hasRoom(kind));
  }

  #assign(connection: Connection, exchange: Exchange): void {
    this.#waiting.remove(exchange);
    this.#forgetIdle(connection);
    if (connection.protocol === 'http/1.1') {
      this.#working[exchange.kind] += 1;
    }
    exchange.assigned(connection.requests > 0);
    connection.send(exchange, this.#clock.now());
  }

  /** A connection has room: for those who wait, else it is idle. */
  #offer(connection: Connection): void {
    for (const kind of kinds) {
      while (connection.hasRoom(kind) && this.#mayTake(connection, kind)) {
        const exchange = this.#waiting.take(kind, connection.requests > 0);
        if (exchange === undefined) {
          break;
        }
        this.#assign(connection, exchange);
      }
    }
    if (connection.socket.destroyed) {
      this.#dialForWaiting();
      return;
    }
    if (connection.state !== 'idle') {
      return;
    }
    const draining = this.#state !== 'open' && this.#waiting.size === 0;
    const surplus =
      connection.protocol === 'http/1.1' && this.#unaryConnections() >= this.#limits.maxConnectionsPerHost;
    if (draining || surplus) {
      connection.retire();
    } else {
      this.#keepIdle(connection);
    }
  }

  /** A connection that was opened for a stream may serve a short request only within the bound for those. */
  #mayTake(connection: Connection, kind: RequestKind): boolean {
    return (
      kind === 'stream' ||
      connection.protocol === 'h2' ||
      this.#unaryConnections() < this.#limits.maxConnectionsPerHost
    );
  }

  /** HTTP/1.1 connections that count against `maxConnectionsPerHost`. */
  #unaryConnections(): number {
    return this.#working.unary + this.#idle.length + this.#dialing.unary;
  }

  #keepIdle(connection: Connection): void {
    if (connection.protocol === 'http/1.1') {
      this.#idle.push(connection);
    }
    this.#owner.connectionIdle(connection);
    const idle =
      connection.protocol === 'h2'
        ? [...this.#sessions].filter((session) => session.state === 'idle')
        : this.#idle;
    const eldest = idle[0];
    if (idle.length > this.#limits.maxIdlePerHost && eldest !== undefined) {
      eldest.retire();
    }
  }

  #forgetIdle(connection: Connection): void {
    const index = this.#idle.lastIndexOf(connection);
    if (index !== -1) {
      this.#idle.splice(index, 1);
    }
    this.#owner.connectionBusy(connection);
  }

  #retireConnections(): void {
    for (const dial of this.#dials) {
      dial.cancel(new TransportError('ERR_RH_POOL_CLOSED', 'the connection is no longer needed'));
    }
    for (const connection of [...this.#connections]) {
      connection.retire();
    }
  }

  #boundWait(exchange: Exchange, ms: number): void {
    exchange.waitTimer?.cancel();
    exchange.waitTimer = this.#clock.setTimeout(() => {
      // A dial is under way for it: that has a bound of its own, and an error that says more.
      if (this.#waiting.isAmongFirst(exchange, this.#dialing[exchange.kind])) {
        this.#boundWait(exchange, this.#limits.dialTimeoutMs);
        return;
      }
      exchange.fail(
        new TransportError(
          'ERR_RH_QUEUE_TIMEOUT',
          `no connection to ${this.endpoint.origin} was free within ${ms} ms`,
        ),
      );
    }, ms);
  }

  // --- dialing ------------------------------------------------------------------------------------------------------

  #dialForWaiting(): void {
    for (const kind of kinds) {
      while (this.#waiting.sizeOf(kind) > this.#dialing[kind] && this.#mayDial(kind)) {
        this.#dial(kind);
      }
    }
  }

  #mayDial(kind: RequestKind): boolean {
    if (this.#state === 'closed') {
      return false;
    }
    const shares =
      this.#protocol === 'h2' || (this.#protocol === undefined && this.endpoint.alpn !== 'http/1.1');
    if (shares) {
      // One connection may serve all who wait, so it is seen first what the server speaks and how much it carries.
      return this.#dials.size === 0 && this.#sessions.size < this.#limits.maxConnectionsPerHost;
    }
    return kind === 'stream' || this.#unaryConnections() < this.#limits.maxConnectionsPerHost;
  }

  #dial(kind: RequestKind): void {
    this.#totals.dials += 1;
    const dial = new Dial(kind, this.endpoint, this.#clock, this.#limits.dialTimeoutMs);
    this.#dials.add(dial);
    this.#dialing[kind] += 1;
    let tls: TlsState | undefined;
    try {
      tls = this.#tlsState();
    } catch (cause) {
      this.#dialFailed(dial, asTransportError(cause, this.endpoint));
      return;
    }
    void dial.open(tls).then(
      (dialed) => this.#dialed(dial, dialed),
      (cause: unknown) => this.#dialFailed(dial, asTransportError(cause, this.endpoint)),
    );
  }

  #tlsState(): TlsState | undefined {
    if (this.endpoint.scheme === 'https') {
      this.#tls ??= createTlsState(this.endpoint);
    }
    return this.#tls;
  }

  #dialed(dial: Dial, { socket, protocol, resumed }: DialedSocket): void {
    this.#forgetDial(dial);
    if (this.#state === 'closed') {
      socket.destroy();
      return;
    }
    this.#protocol = protocol;
    this.#totals.resumptions += resumed ? 1 : 0;
    const connection =
      protocol === 'h2'
        ? new Http2Connection(socket, this.endpoint, this, this.#clock)
        : new Http1Connection(socket, this.endpoint, this, this.#clock, this.#limits.idleTimeoutMs);
    this.#connections.add(connection);
    if (protocol === 'h2') {
      this.#sessions.add(connection);
    }
    publishConnection('opened', this.endpoint, connection);
    this.#offer(connection);
    this.#dialForWaiting();
  }

  #dialFailed(dial: Dial, error: TransportError): void {
    this.#forgetDial(dial);
    if (dial.cancelled) {
      this.#dialForWaiting();
      this.#closeIfEmpty();
      return;
    }
    this.#totals.dialFailures += 1;
    // While other connections live, one failed dial is one request's failure. Without any it is the answer to all who
    // waited for it: each of them would only dial into the same.
    const alone = this.#connections.size === 0;
    for (const kind of alone ? kinds : [dial.kind]) {
      for (let exchange = this.#waiting.take(kind, false); exchange !== undefined;) {
        exchange.fail(error);
        exchange = alone ? this.#waiting.take(kind, false) : undefined;
      }
    }
    this.#dialForWaiting();
    this.#closeIfEmpty();
  }

  #forgetDial(dial: Dial): void {
    if (this.#dials.delete(dial)) {
      this.#dialing[dial.kind] -= 1;
    }
  }

  /** Nobody waits any more, for instance since all gave up: what is still being dialed would have no use. */
  #dropUnwantedDials(): void {
    if (this.#waiting.size === 0 && this.#exchanges.size === 0) {
      for (const dial of this.#dials) {
        dial.cancel(new TransportError('ERR_RH_ABORTED', 'nobody waits for the connection any more'));
      }
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
      this.#exchanges.size === 0
    ) {
      this.#state = 'closed';
      publishTransport('closed', this.endpoint);
      this.#owner.transportClosed(this);
      this.#closed.resolve();
    }
  }

  /** Numbers and names only; see `inspect.ts`. */
  inspect(): TransportSnapshot {
    const { endpoint } = this;
    const connections = { opening: this.#dials.size, idle: 0, active: 0, draining: 0 };
    let bytesIn = this.#totals.bytesIn;
    let bytesOut = this.#totals.bytesOut;
    for (const connection of this.#connections) {
      if (connection.state !== 'closed') {
        connections[connection.state] += 1;
      }
      bytesIn += bytesOf(connection, 'bytesRead');
      bytesOut += bytesOf(connection, 'bytesWritten');
    }
    return {
      id: endpoint.key.slice(0, 12),
      origin: endpoint.origin,
      serverName: endpoint.serverName,
      insecure: endpoint.insecure,
      alpn: endpoint.alpn,
      dialer: endpoint.dialer.id,
      protocol: this.#protocol,
      state: this.#state,
      connections,
      requests: this.#exchanges.size - this.#streams,
      streams: this.#streams,
      waiting: this.#waiting.size,
      leases: this.#leases,
      dials: this.#totals.dials,
      dialFailures: this.#totals.dialFailures,
      resumptions: this.#totals.resumptions,
      requestsTotal: this.#totals.requests,
      bytesIn,
      bytesOut,
      certExpiresAt: endpoint.material.certExpiresAt?.toISOString(),
      caExpiresAt: endpoint.material.caExpiresAt?.toISOString(),
      createdAt: new Date(this.createdAt).toISOString(),
      lastUsedAt: new Date(this.#lastUsedAt).toISOString(),
    };
  }
}

function bytesOf(connection: Connection, counter: 'bytesRead' | 'bytesWritten'): number {
  const value: unknown = Reflect.get(connection.socket, counter);
  return typeof value === 'number' ? value : 0;
}

function asTransportError(cause: unknown, endpoint: Endpoint): TransportError {
  return cause instanceof TransportError
    ? cause
    : new TransportError('ERR_RH_DIAL_FAILED', `cannot connect to ${endpoint.origin}`, { cause });
}
