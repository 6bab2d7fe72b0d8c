/**
 * Which protocol a request of each kind goes over: what the endpoint's policy says, what the server has agreed to, and, for a
 * while, that its HTTP/2 did not work although it had agreed to it. Why the kinds differ is in docs/adr/0008.
 */

import type { Clock } from './clock.ts';
import type { AlpnOffer, AlpnPolicy } from './endpoint.ts';
import type { RequestKind } from './request.ts';

export type Protocol = 'http/1.1' | 'h2';

/** The share of a session that long-running streams may take where short requests ride on it, too. */
const sharedStreamShare = 0.75;

export class ProtocolChoice {
  readonly #policy: AlpnPolicy;
  readonly #clock: Clock;
  readonly #backOffMs: number;
  readonly #agreed: Record<RequestKind, Protocol | undefined> = { unary: undefined, stream: undefined };
  #http2RefusedUntil = Number.NEGATIVE_INFINITY;

  constructor(policy: AlpnPolicy, clock: Clock, backOffMs: number) {
    this.#policy = policy;
    this.#clock = clock;
    this.#backOffMs = backOffMs;
  }

  /** Whether the two kinds never meet on a connection of HTTP/2. */
  get byKind(): boolean {
    return this.#policy === 'by-kind';
  }

  /** The share of a session that long-running streams may take. */
  get streamShare(): number {
    return this.byKind ? 1 : sharedStreamShare;
  }

  /** What to offer the server in a dial for this kind. */
  offerFor(kind: RequestKind): AlpnOffer {
    if (this.#policy !== 'auto' && this.#policy !== 'by-kind') {
      return this.#policy;
    }
    return (this.byKind && kind === 'unary') || this.#backsOff ? 'http/1.1' : 'auto';
  }

  /** What it has agreed to in a dial for this kind. */
  agreed(kind: RequestKind, protocol: Protocol): void {
    if (this.#backsOff) {
      // It was not asked for anything else.
      return;
    }
    if (this.byKind) {
      this.#agreed[kind] = protocol;
    } else {
      this.#agreed.unary = protocol;
      this.#agreed.stream = protocol;
    }
  }

  /** It has agreed to HTTP/2 and does not speak it. Where there is a choice, it is HTTP/1.1 for a while. */
  http2Refused(): void {
    if (this.#policy === 'auto' || this.#policy === 'by-kind') {
      this.#http2RefusedUntil = this.#clock.now() + this.#backOffMs;
    }
  }

  /** What a request of this kind goes over; undefined while the next dial will tell. */
  of(kind: RequestKind): Protocol | undefined {
    const offer = this.offerFor(kind);
    return offer === 'auto' ? this.#agreed[kind] : offer;
  }

  /** Whether one connection may carry several of this kind, or might, so that one is dialed at a time. */
  shares(kind: RequestKind): boolean {
    return this.of(kind) !== 'http/1.1';
  }

  /** Whether a request of this kind may go on a connection of this protocol. */
  fits(kind: RequestKind, protocol: Protocol): boolean {
    if (!this.byKind) {
      return true;
    }
    return kind === 'unary' ? protocol === 'http/1.1' : protocol === 'h2' || this.of(kind) === 'http/1.1';
  }

  get #backsOff(): boolean {
    return this.#clock.now() < this.#http2RefusedUntil;
  }
}
