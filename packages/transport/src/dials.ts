/**
 * The connections of one transport that are being opened, and what its dials share: the parsed TLS context and the
 * newest resumable session. It owns each socket until it hands it over.
 */

import type { Clock } from './clock.ts';
import { Dial } from './dial.ts';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import type { RequestKind } from './request.ts';
import { createTlsState, endedAtOnce } from './secure-dial.ts';
import type { DialedSocket, TlsState } from './secure-dial.ts';

/** The transport, as its dials see it. */
export interface DialsOwner {
  dialed(socket: DialedSocket): void;
  dialFailed(kind: RequestKind, error: TransportError): void;
  /** A dial that we gave up has ended. */
  dialCancelled(): void;
}

export class Dials {
  readonly counters = { started: 0, failed: 0, resumed: 0 };
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #owner: DialsOwner;
  readonly #dials = new Set<Dial>();
  readonly #sizes: Record<RequestKind, number> = { unary: 0, stream: 0 };
  #tls: TlsState | undefined;

  constructor(endpoint: Endpoint, clock: Clock, timeoutMs: number, owner: DialsOwner) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#owner = owner;
  }

  get size(): number {
    return this.#dials.size;
  }

  /** Those that were started for an exchange of this kind. */
  sizeOf(kind: RequestKind): number {
    return this.#sizes[kind];
  }

  start(kind: RequestKind): void {
    const dial = new Dial(kind, this.#endpoint, this.#clock, this.#timeoutMs);
    this.#dials.add(dial);
    this.#sizes[kind] += 1;
    this.counters.started += 1;
    void this.#open(dial);
  }

  cancelAll(reason: TransportError): void {
    for (const dial of this.#dials) {
      dial.cancel(reason);
    }
  }

  async #open(dial: Dial): Promise<void> {
    let dialed: DialedSocket;
    try {
      dialed = await dial.open(this.#tlsState());
      if (dialed.socket.destroyed) {
        throw endedAtOnce(this.#endpoint);
      }
    } catch (cause) {
      this.#forget(dial);
      if (dial.cancelled) {
        this.#owner.dialCancelled();
        return;
      }
      this.counters.failed += 1;
      this.#owner.dialFailed(dial.kind, this.#errorOf(cause));
      return;
    }
    this.#forget(dial);
    this.counters.resumed += dialed.resumed ? 1 : 0;
    this.#owner.dialed(dialed);
  }

  #forget(dial: Dial): void {
    this.#dials.delete(dial);
    this.#sizes[dial.kind] -= 1;
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
