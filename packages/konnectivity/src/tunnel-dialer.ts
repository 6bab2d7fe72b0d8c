/**
 * The way to many clusters through one set of proxy-servers. It fits the `Dialer` of `@roundhouse/transport` by its shape. What it is made
 * of never changes: after a rotation of certificates there is a new one, and the old one is closed behind its last tunnel.
 */

import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { TunnelCounts } from './counts.ts';
import { nameOf, targetOf } from './dial-target.ts';
import type { TunnelTarget } from './dial-target.ts';
import { TunnelError } from './errors.ts';
import type { DialFailureReason } from './errors.ts';
import { GrpcTunnels } from './grpc-tunnels.ts';
import { HttpConnectTunnels } from './http-connect-tunnels.ts';
import type { TunnelSnapshot } from './inspect.ts';
import { limitsOf } from './limits.ts';
import type { TunnelLimits } from './limits.ts';
import { metricsOf } from './metrics.ts';
import type { TunnelMetric } from './metrics.ts';
import { serverIdentity } from './server-address.ts';
import type { TunnelTls } from './server-address.ts';
import { systemResolve } from './session/proxy-servers.ts';
import type { Resolve } from './session/proxy-servers.ts';
import { TargetPlaces } from './target-places.ts';
import type { Way } from './way.ts';

export interface TunnelDialerOptions {
  /** `host:port`, or `unix:/path`. All of them lead to the same agents; each address that a name has is a proxy-server of its own. */
  readonly servers: readonly string[];
  /** As the proxy-servers run (`--mode`). Default: grpc. */
  readonly mode?: 'grpc' | 'http-connect' | undefined;
  /** Needed for TCP; over a Unix socket there is none. */
  readonly tls?: TunnelTls | undefined;
  readonly limits?: Partial<TunnelLimits> | undefined;
  readonly clock?: Clock | undefined;
  /** Default: as the system resolves names. */
  readonly resolve?: Resolve | undefined;
}

export interface TunnelDialOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface TunnelCloseOptions {
  /** How long tunnels may go on. Default 10 s. */
  readonly timeoutMs?: number | undefined;
}

const closeTimeoutMs = 10_000;

export class TunnelDialer implements AsyncDisposable {
  /** Equal exactly when the way is equal: mode, addresses, server name, CA and client certificate. Nothing secret is in it. */
  readonly id: string;
  readonly #mode: 'grpc' | 'http-connect';
  readonly #limits: TunnelLimits;
  readonly #clock: Clock;
  readonly #counts = new TunnelCounts();
  readonly #places: TargetPlaces;
  readonly #way: Way;
  /** Each leaves when it settles; bounded by `maxDialsPerTarget`. */
  readonly #dials = new Set<AbortController>();
  #closing: Promise<void> | undefined;
  #closed = false;
  #emptied: (() => void) | undefined;

  /** @throws ERR_RH_TUNNEL_OPTIONS */
  constructor(options: TunnelDialerOptions) {
    const {
      servers,
      mode = 'grpc',
      tls,
      limits = {},
      clock = systemClock,
      resolve = systemResolve,
    } = options;
    const identity = serverIdentity(servers, tls);
    this.id = `konnectivity:${mode}:${identity.digest}`;
    this.#mode = mode;
    this.#limits = limitsOf(limits);
    this.#clock = clock;
    this.#places = new TargetPlaces(this.#limits);
    const parts = {
      identity,
      resolve,
      clock,
      limits: this.#limits,
      counts: this.#counts,
      onChange: () => this.#checkEmpty(),
    };
    this.#way = mode === 'grpc' ? new GrpcTunnels(parts) : new HttpConnectTunnels(parts);
  }

  /**
   * Resolves with a connection that the agent has made. It is the caller's from then on, and `signal` is no longer looked at.
   *
   * @param address `host:port`, IPv6 in brackets; the agent resolves the host
   * @throws ERR_RH_TUNNEL_ADDRESS, _LIMIT, _CLOSED, _SERVER, _UNTRUSTED, _NO_AGENT, _DIAL, _DIAL_TIMEOUT, _DIAL_LOST, _PROTOCOL; and
   * the reason of `signal`
   */
  async dial(address: string | TunnelTarget, { signal }: TunnelDialOptions = {}): Promise<Duplex> {
    const target = targetOf(address);
    signal?.throwIfAborted();
    if (this.#closed) {
      throw this.#closedError();
    }
    const place = this.#places.take(target);
    const controller = new AbortController();
    const onAbort = (): void => controller.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = this.#clock.setTimeout(
      () => controller.abort(this.#timeoutError(target)),
      this.#limits.dialTimeoutMs,
    );
    this.#dials.add(controller);
    const began = performance.now();
    try {
      const tunnel = await this.#way.dial(target, place, controller.signal);
      this.#counts.dialed('ok', (performance.now() - began) / 1000);
      return tunnel;
    } catch (error) {
      this.#counts.dialed(reasonOf(error, signal), (performance.now() - began) / 1000);
      throw error;
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      this.#dials.delete(controller);
      place.dialed();
      this.#checkEmpty();
    }
  }

  /** What is at the bottom of a connection: the socket itself where each tunnel has one. */
  bottomOf(connection: Duplex): Duplex | undefined {
    return this.#way.bottomOf(connection);
  }

  inspect(): TunnelSnapshot {
    const { dialing, open, closing, bufferedBytes } = this.#way.tunnels();
    const counts = this.#counts;
    return {
      id: this.id,
      mode: this.#mode,
      state: this.#state,
      servers: this.#way.servers(),
      dialing,
      open,
      closing,
      bufferedBytes,
      byTarget: this.#places.inspect(),
      sessionsOpened: counts.sessionsOpened,
      sessionsFailed: counts.sessionsFailed,
      goaways: counts.goaways,
      redials: counts.redials,
      stalls: counts.stalls,
      lateAnswers: counts.lateAnswers,
      foreignPackets: counts.foreignPackets,
      closeTimeouts: counts.closeTimeouts,
      bytesSent: counts.bytesSent,
      bytesReceived: counts.bytesReceived,
    };
  }

  /** For a page of Prometheus. The first four families are those of the Go client. */
  metrics(): readonly TunnelMetric[] {
    return metricsOf(this.inspect(), this.#counts);
  }

  /** Takes no more dials, and ends when the last tunnel has: at the limit all are cut. */
  close({ timeoutMs = closeTimeoutMs }: TunnelCloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  /** Cuts all tunnels now. */
  async destroy(): Promise<void> {
    const closing = this.close({ timeoutMs: 0 });
    this.#cut();
    await closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #state(): TunnelSnapshot['state'] {
    if (this.#closed) {
      return this.#emptied === undefined && this.#way.empty ? 'closed' : 'closing';
    }
    return 'open';
  }

  async #close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    for (const dial of this.#dials) {
      dial.abort(this.#closedError());
    }
    this.#way.retire('it is closed on our side');
    if (this.#way.empty && this.#dials.size === 0) {
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#emptied = resolve;
    if (timeoutMs === 0) {
      this.#cut();
    }
    const timer = this.#clock.setTimeout(() => this.#cut(), timeoutMs);
    this.#checkEmpty();
    await promise;
    timer.cancel();
  }

  #cut(): void {
    this.#way.destroy(this.#closedError());
  }

  #checkEmpty(): void {
    if (this.#closed && this.#dials.size === 0 && this.#way.empty) {
      this.#emptied?.();
      this.#emptied = undefined;
    }
  }

  #closedError(): TunnelError {
    return new TunnelError(
      'ERR_RH_TUNNEL_CLOSED',
      'the way through the proxy-servers is closed on our side',
      {
        reason: 'context',
      },
    );
  }

  #timeoutError(target: TunnelTarget): TunnelError {
    return new TunnelError(
      'ERR_RH_TUNNEL_DIAL_TIMEOUT',
      `${nameOf(target)} was not dialed within ${this.#limits.dialTimeoutMs} ms`,
      { reason: 'timeout' },
    );
  }
}

function reasonOf(error: unknown, signal: AbortSignal | undefined): DialFailureReason {
  if (error instanceof TunnelError) {
    return error.reason ?? 'unknown';
  }
  return signal?.aborted === true && error === signal.reason ? 'context' : 'unknown';
}
