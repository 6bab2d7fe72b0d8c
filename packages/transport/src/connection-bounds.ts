/**
 * How many connections of one endpoint there may be, and for whom: short requests and long-running streams have bounds of their
 * own, and neither kind takes what is the other one's.
 */

import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';
import type { Dials } from './dials.ts';
import type { Limits } from './limits.ts';
import type { ProtocolChoice } from './protocol-choice.ts';
import type { RequestKind } from './request.ts';
import type { WaitingList } from './waiting-list.ts';

/** What a transport has. */
export interface Stock {
  readonly connections: Connections;
  readonly dials: Dials;
  readonly waiting: WaitingList;
  readonly protocols: ProtocolChoice;
}

export class ConnectionBounds {
  readonly #stock: Stock;
  readonly #most: number;

  constructor({ maxConnectionsPerHost }: Limits, stock: Stock) {
    this.#stock = stock;
    this.#most = maxConnectionsPerHost;
  }

  /** Whether one more may be opened for a request of this kind that waits. */
  mayDial(kind: RequestKind): boolean {
    const { connections, dials, protocols } = this.#stock;
    if (!protocols.shares(kind)) {
      return kind === 'stream' || this.#short < this.#most;
    }
    // One connection may serve all who wait, so it is seen first what the server speaks and how much it carries.
    return protocols.byKind
      ? // Only streams share one, and how many of those there are has a bound of its own.
        dials.sizeOf(kind) === 0
      : dials.size === 0 && connections.sessions < this.#most;
  }

  /**
   * A connection that was opened for a stream may serve a short request only within the bound for those; and a stream for
   * which a dial is under way waits for that, or the two kinds together would have more than both bounds.
   */
  mayTake({ protocol }: Connection, kind: RequestKind): boolean {
    const { dials, protocols, waiting } = this.#stock;
    if (!protocols.fits(kind, protocol)) {
      return false;
    }
    if (protocol === 'h2') {
      return true;
    }
    return kind === 'stream' ? waiting.sizeOf('stream') > dials.sizeOf('stream') : this.#short < this.#most;
  }

  /** Whether it would be one too many if it were kept for short requests. */
  isSurplus({ protocol }: Connection): boolean {
    return protocol === 'http/1.1' && this.#short >= this.#most;
  }

  /** HTTP/1.1 connections that count against `maxConnectionsPerHost`. */
  get #short(): number {
    return this.#stock.connections.short + this.#stock.dials.sizeOf('unary');
  }
}
