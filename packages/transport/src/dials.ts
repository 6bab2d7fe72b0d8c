/**
 * The connections of one transport that are being opened, and what its dials share: the parsed TLS context and the
 * newest resumable session. It owns each socket until it hands it over.
 */

import type { Clock } from './clock.ts';
import { Dial } from './dial.ts';
import type { DialAttempt, DialBreaker } from './dial-breaker.ts';
import type { AlpnOffer, Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import type { RequestKind } from './request.ts';
import { createTlsState, endedAtOnce } from './secure-dial.ts';
import type { DialedSocket, TlsState } from './secure-dial.ts';

/** The transport, as its dials see it. */
export interface DialsOwner {
  dialed(socket: DialedSocket, kind: RequestKind): void;
  dialFailed(kind: RequestKind, error: TransportError): void;
  /** A dial that we gave up has ended. */
  dialCancelled(): void;
}

export class Dials {
  readonly counters = { started: 0, failed: 0, resumed: 0 };
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #breaker: DialBreaker;
  readonly #owner: DialsOwner;
  /** By the kind of the exchange that made them necessary. */
  readonly #dials = new Map<Dial, RequestKind>();
  readonly #sizes: Record<RequestKind, number> = { unary: 0, stream: 0 };
  #tls: TlsState | undefined;

  constructor(endpoint: Endpoint, clock: Clock, timeoutMs: number, breaker: DialBreaker, owner: DialsOwner) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#breaker = breaker;
    this.#owner = owner;
  }

  get size(): number {
    return this.#dials.size;
  }

  /** Those that were started for an exchange of this kind. */
  sizeOf(kind: RequestKind): number {
    return this.#sizes[kind];
  }

  /** Only when the breaker lets one begin. */
  start(kind: RequestKind, alpn: AlpnOffer): void {
    const dial = new Dial(this.#endpoint, this.#clock, this.#timeoutMs);
    this.#dials.set(dial, kind);
    this.#sizes[kind] += 1;
    this.counters.started += 1;
    void this.#open(dial, kind, alpn);
  }

  cancelAll(reason: TransportError): void {
    for (const dial of this.#dials.keys()) {
      dial.cancel(reason);
    }
  }

  /**
   * A connection apart, which is in no count of ours: only HTTP/1.1 is offered on it, and whoever asked owns it. It shares
   * the TLS context and the sessions of the others.
   *
   * @throws ERR_RH_ENDPOINT_DOWN, and as `dialEndpoint`
   */
  async openApart(signal: AbortSignal): Promise<DialedSocket> {
    if (!this.#breaker.mayBegin) {
      throw this.#breaker.refuse();
    }
    const attempt = this.#breaker.begin();
    this.counters.started += 1;
    const dial = new Dial(this.#endpoint, this.#clock, this.#timeoutMs);
    const cancel = (): void => dial.cancel(this.#errorOf(signal.reason));
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const dialed = await dial.open(this.#tlsState(), 'http/1.1');
      this.#breaker.succeeded();
      this.counters.resumed += dialed.resumed ? 1 : 0;
      return dialed;
    } catch (cause) {
      const error = this.#errorOf(cause);
      if (dial.cancelled) {
        this.#breaker.cancelled(attempt);
      } else {
        this.counters.failed += 1;
        // A server that does not speak HTTP/1.1 is there, and may be asked over HTTP/2.
        this.#failed(attempt, error, error.code === 'ERR_RH_ALPN_MISMATCH');
      }
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  async #open(dial: Dial, kind: RequestKind, alpn: AlpnOffer): Promise<void> {
    const attempt = this.#breaker.begin();
    let dialed: DialedSocket;
    try {
      dialed = await dial.open(this.#tlsState(), alpn);
      if (dialed.socket.destroyed) {
        throw endedAtOnce(this.#endpoint);
      }
    } catch (cause) {
      this.#forget(dial, kind);
      if (dial.cancelled) {
        this.#breaker.cancelled(attempt);
        this.#owner.dialCancelled();
        return;
      }
      this.counters.failed += 1;
      const error = this.#errorOf(cause);
      this.#failed(attempt, error, false);
      this.#owner.dialFailed(kind, error);
      return;
    }
    this.#forget(dial, kind);
    this.#breaker.succeeded();
    this.counters.resumed += dialed.resumed ? 1 : 0;
    this.#owner.dialed(dialed, kind);
  }

  #failed(attempt: DialAttempt, error: TransportError, isThere: boolean): void {
    // With material that OpenSSL refuses nothing was dialed at all.
    if (isThere || error.code === 'ERR_RH_MATERIAL_INVALID') {
      this.#breaker.cancelled(attempt);
    } else {
      this.#breaker.failed(attempt, error);
    }
  }

  #forget(dial: Dial, kind: RequestKind): void {
    this.#dials.delete(dial);
    this.#sizes[kind] -= 1;
  }

  /** Built by the first dial that needs it, and only kept when that worked. */
  #tlsState(): TlsState | undefined {
    if (this.#endpoint.scheme === 'https') {
      this.#tls ??= createTlsState(this.#endpoint);
    }
    return this.#tls;
  }

  #errorOf(cause: unknown): TransportError {
    return cause instanceof TransportError
      ? cause
      : new TransportError('ERR_RH_DIAL_FAILED', `cannot connect to ${this.#endpoint.origin}`, { cause });
  }
}
