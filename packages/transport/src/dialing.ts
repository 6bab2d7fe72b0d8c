/** For whom a transport opens connections, and what becomes of those who wait while its endpoint is not dialed. */

import type { Clock, Timer } from './clock.ts';
import type { ConnectionBounds, Stock } from './connection-bounds.ts';
import type { DialBreaker } from './dial-breaker.ts';
import { requestKinds } from './request.ts';

export class Dialing {
  readonly #stock: Stock;
  readonly #bounds: ConnectionBounds;
  readonly #breaker: DialBreaker;
  readonly #clock: Clock;
  /** While some wait for a dial that may not begin yet. */
  #rest: Timer | undefined;

  constructor(stock: Stock, bounds: ConnectionBounds, breaker: DialBreaker, clock: Clock) {
    this.#stock = stock;
    this.#bounds = bounds;
    this.#breaker = breaker;
    this.#clock = clock;
  }

  /** Begins the dials that are wanted and may begin. */
  forWaiting(): void {
    const { connections, dials, protocols, waiting } = this.#stock;
    for (const kind of requestKinds) {
      while (
        waiting.sizeOf(kind) > dials.sizeOf(kind) &&
        this.#breaker.mayBegin &&
        this.#bounds.mayDial(kind)
      ) {
        dials.start(kind, protocols.offerFor(kind));
      }
    }
    if (!this.#breaker.mayBegin) {
      this.#restWithWaiting();
    } else if (waiting.needsFreshConnection && dials.size === 0) {
      // Nothing may be opened, but something idle that none of them can use counts: it makes room, and comes back here.
      connections.eldestIdle()?.retire();
    }
  }

  /** Somebody waits no more. */
  waitsLess(): void {
    if (this.#stock.waiting.size === 0) {
      this.#rest?.cancel();
      this.#rest = undefined;
    }
  }

  /** The endpoint is not dialed now. Who waits can hope for a connection that there is; without any there is nothing to wait for. */
  #restWithWaiting(): void {
    const { connections, dials, waiting } = this.#stock;
    const hopeless = !connections.hopeful && (dials.size === 0 || this.#breaker.state === 'probing');
    if (hopeless) {
      for (const exchange of requestKinds.flatMap((kind) => waiting.takeBeyond(kind, dials.sizeOf(kind)))) {
        exchange.fail(this.#breaker.refuse());
      }
    } else if (waiting.size > 0) {
      this.#rest ??= this.#clock.setTimeout(() => {
        this.#rest = undefined;
        this.forWaiting();
      }, this.#breaker.restMs);
    }
  }
}
