/** Exchanges that wait for a connection, first come first served within their kind. */

import type { Exchange } from './exchange.ts';
import type { RequestKind } from './request.ts';

export class WaitingList {
  // In insertion order; bounded by the transport's maxWaitingPerHost and maxStreamsPerHost. Entries leave when they
  // are taken, and when their exchange settles.
  readonly #waiting: Readonly<Record<RequestKind, Set<Exchange>>> = { unary: new Set(), stream: new Set() };

  get size(): number {
    return this.#waiting.unary.size + this.#waiting.stream.size;
  }

  sizeOf(kind: RequestKind): number {
    return this.#waiting[kind].size;
  }

  add(exchange: Exchange): void {
    this.#waiting[exchange.kind].add(exchange);
  }

  remove(exchange: Exchange): void {
    this.#waiting[exchange.kind].delete(exchange);
  }

  /** The longest waiting one of this kind; with `used`, one that takes a connection on which something was sent. */
  take(kind: RequestKind, used: boolean): Exchange | undefined {
    for (const exchange of this.#waiting[kind]) {
      if (!used || !exchange.needsFreshConnection) {
        this.#waiting[kind].delete(exchange);
        return exchange;
      }
    }
    return undefined;
  }

  /** Whether as few as `count` of its kind have waited longer. */
  isAmongFirst(exchange: Exchange, count: number): boolean {
    let position = 0;
    for (const other of this.#waiting[exchange.kind]) {
      if (other === exchange) {
        return position < count;
      }
      position += 1;
      if (position >= count) {
        return false;
      }
    }
    return false;
  }
}
