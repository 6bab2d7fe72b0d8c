/**
 * A party on whose behalf requests are sent, for instance one cluster: an endpoint with a source. It points at the
 * transport of its present endpoint; several identities may point at one. Rotation moves this identity's pointer and
 * drains what is under way in its name; removal ends it. Others on the same transport feel neither.
 */

import type { Dispatcher } from 'undici';
import type { Timer } from './clock.ts';
import { PoolDispatcher } from './dispatcher.ts';
import { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import type { Exchange, ExchangeOwner } from './exchange.ts';
import type { TransportPool } from './pool.ts';
import type { RequestOptions, ResponseHandler } from './request.ts';
import { Transport } from './transport.ts';

export type EndpointSource = Endpoint | (() => Endpoint | Promise<Endpoint>);

export interface IdentityCloseOptions {
  /** How long what is under way may go on. Default 0: a removed party's streams end now. */
  readonly timeoutMs?: number | undefined;
  /** Becomes the cause of ERR_RH_IDENTITY_CLOSED. */
  readonly reason?: Error | undefined;
}

export class Identity implements AsyncDisposable, ExchangeOwner {
  readonly name: string;
  /** For undici's `fetch` and `request`; refuses any other origin than its own. */
  readonly dispatcher: Dispatcher;
  readonly #pool: TransportPool;
  #source: EndpointSource;
  #endpoint: Endpoint | undefined;
  #resolving: Promise<Endpoint> | undefined;
  #generation = 1;
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** What is under way in its name. Leaves when it is settled. */
  readonly #exchanges = new Set<Exchange>();
  /** Of former generations: they end by themselves or at the drain limit. */
  readonly #drains = new Set<Timer>();
  #closing: Promise<void> | undefined;
  #emptied: (() => void) | undefined;

  /** For `TransportPool.identity`. */
  constructor(name: string, source: EndpointSource, pool: TransportPool) {
    this.name = name;
    this.#pool = pool;
    this.#source = source;
    this.#endpoint = source instanceof Endpoint ? source : undefined;
    this.dispatcher = new PoolDispatcher((options, handler, origin) =>
      this.#dispatchTo(origin, options, handler),
    );
  }

  /** The present one; undefined until a source has found it. */
  get endpoint(): Endpoint | undefined {
    return this.#endpoint;
  }

  /** Counts the endpoints that it has had; a rotation to equal content is none. */
  get generation(): number {
    return this.#generation;
  }

  get inFlight(): number {
    return this.#exchanges.size;
  }

  /** Never throws: whatever is wrong fails the exchange through its handler. */
  dispatch(options: RequestOptions, handler: ResponseHandler): void {
    if (this.#endpoint !== undefined) {
      this.#send(this.#endpoint, options, handler);
      return;
    }
    this.#sendWhenFound(options, handler);
  }

  /**
   * From now on requests go to `source`. Equal content changes nothing. What waits moves over, idle connections of the
   * old endpoint close, what is under way has until the drain limit.
   */
  rotate(source: EndpointSource): void {
    const former = this.#endpoint;
    this.#source = source;
    if (!(source instanceof Endpoint)) {
      this.#resolving = undefined;
      this.#endpoint = undefined;
    } else {
      if (former?.key === source.key) {
        return;
      }
      this.#endpoint = source;
    }
    this.#generation += 1;
    if (former !== undefined) {
      this.#leave(former);
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
    if (this.#exchanges.size === 0) {
      for (const drain of this.#drains) {
        drain.cancel();
      }
      this.#drains.clear();
      this.#emptied?.();
    }
  }

  #dispatchTo(origin: string, options: RequestOptions, handler: ResponseHandler): void {
    const own = this.#endpoint?.origin;
    if (own !== undefined && new URL(origin).origin !== new URL(own).origin) {
      throw new TransportError(
        'ERR_RH_REQUEST_INVALID',
        `${this.name} sends to ${own} only, not to ${origin}`,
      );
    }
    this.dispatch(options, handler);
  }

  #send(endpoint: Endpoint, options: RequestOptions, handler: ResponseHandler): void {
    const exchange = this.#pool.begin(endpoint, options, handler);
    if (exchange === undefined) {
      return;
    }
    if (this.#state !== 'open') {
      exchange.fail(this.#closedError(undefined));
      return;
    }
    exchange.identity = this;
    this.#exchanges.add(exchange);
    this.#pool.submit(exchange, endpoint);
  }

  #sendWhenFound(options: RequestOptions, handler: ResponseHandler): void {
    this.#find().then(
      (endpoint) => this.#send(endpoint, options, handler),
      (cause: unknown) => {
        // Through an exchange of its own, so that the handler sees the one order of calls that it knows.
        const exchange = this.#pool.begin(unresolved, options, handler);
        exchange?.fail(
          cause instanceof Error
            ? cause
            : new TransportError('ERR_RH_DIAL_FAILED', `${this.name} has no endpoint`, { cause }),
        );
      },
    );
  }

  /** Single-flight; a failure goes to those who wait and is not remembered. */
  #find(): Promise<Endpoint> {
    this.#resolving ??= this.#resolve(this.#source);
    return this.#resolving;
  }

  async #resolve(source: EndpointSource): Promise<Endpoint> {
    try {
      const endpoint = source instanceof Endpoint ? source : await source();
      if (this.#source === source) {
        this.#endpoint = endpoint;
      }
      return endpoint;
    } finally {
      if (this.#source === source) {
        this.#resolving = undefined;
      }
    }
  }

  #leave(former: Endpoint): void {
    const next = this.#endpoint;
    const old = [...this.#exchanges];
    for (const exchange of old) {
      if (
        next !== undefined &&
        exchange.carrier instanceof Transport &&
        exchange.carrier.withdraw(exchange)
      ) {
        this.#pool.submit(exchange, next);
      }
    }
    this.#pool.released(former, true);
    const { drainTimeoutMs } = this.#pool.limits;
    const running = old.filter((exchange) => exchange.state !== 'waiting' && exchange.state !== 'settled');
    if (running.length > 0) {
      const error = new TransportError('ERR_RH_DRAINED', `${this.name} was rotated ${drainTimeoutMs} ms ago`);
      const drain = this.#pool.clock.setTimeout(() => {
        this.#drains.delete(drain);
        for (const exchange of running) {
          exchange.fail(error);
        }
      }, drainTimeoutMs);
      this.#drains.add(drain);
    }
  }

  async #close({ timeoutMs = 0, reason }: IdentityCloseOptions): Promise<void> {
    this.#state = 'closing';
    const error = this.#closedError(reason);
    if (this.#exchanges.size > 0 && timeoutMs > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#emptied = resolve;
      const timer = this.#pool.clock.setTimeout(() => this.#failAll(error), timeoutMs);
      await promise;
      timer.cancel();
    }
    this.#failAll(error);
    this.#pool.identityClosed(this);
    if (this.#endpoint !== undefined) {
      this.#pool.released(this.#endpoint, false);
    }
    this.#state = 'closed';
  }

  #failAll(error: TransportError): void {
    for (const exchange of this.#exchanges) {
      exchange.fail(error);
    }
  }

  #closedError(reason: Error | undefined): TransportError {
    return new TransportError('ERR_RH_IDENTITY_CLOSED', `${this.name} was removed`, { cause: reason });
  }
}

/** Only ever named in messages of requests whose endpoint was never found; `.invalid` is reserved (RFC 2606). */
const unresolved = Endpoint.from({ url: 'http://endpoint.invalid' });
