/** A hold on a transport: while it lasts, the transport stays in the map. It is only a count, so releasing cannot fail. */

import type { Exchange } from './exchange.ts';
import type { RequestOptions, ResponseHandler } from './request.ts';
import type { Transport } from './transport.ts';
import type { Upgrade, UpgradeAnswer, UpgradeOptions } from './upgrade.ts';

/** What makes an exchange or an upgrade and begins it. */
export interface LeaseBeginnings {
  /** Undefined when the caller gave up at once. */
  exchange(options: RequestOptions, handler: ResponseHandler): Exchange | undefined;
  upgrade(options: UpgradeOptions): Upgrade;
}

export class Lease implements Disposable {
  readonly #transport: Transport;
  readonly #begin: LeaseBeginnings;
  #released = false;

  constructor(transport: Transport, begin: LeaseBeginnings) {
    this.#transport = transport;
    this.#begin = begin;
    transport.leased();
  }

  /** The key of the endpoint that is leased. */
  get key(): string {
    return this.#transport.endpoint.key;
  }

  dispatch(options: RequestOptions, handler: ResponseHandler): void {
    const exchange = this.#begin.exchange(options, handler);
    if (exchange !== undefined) {
      this.#transport.submit(exchange);
    }
  }

  /** As `Identity.upgrade`. */
  upgrade(options: UpgradeOptions): Promise<UpgradeAnswer> {
    const upgrade = this.#begin.upgrade(options);
    if (upgrade.state !== 'ended') {
      this.#transport.upgrade(upgrade);
    }
    return upgrade.answer;
  }

  [Symbol.dispose](): void {
    if (!this.#released) {
      this.#released = true;
      this.#transport.unleased();
    }
  }
}
