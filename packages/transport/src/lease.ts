/** A hold on a transport: while it lasts, the transport stays in the map. It is only a count, so releasing cannot fail. */

import type { Exchange } from './exchange.ts';
import type { RequestOptions, ResponseHandler } from './request.ts';
import type { Transport } from './transport.ts';

export class Lease implements Disposable {
  readonly #transport: Transport;
  readonly #start: (options: RequestOptions, handler: ResponseHandler) => Exchange | undefined;
  #released = false;

  /** @param start makes an exchange and begins it; undefined when the caller gave up at once. */
  constructor(
    transport: Transport,
    start: (options: RequestOptions, handler: ResponseHandler) => Exchange | undefined,
  ) {
    this.#transport = transport;
    this.#start = start;
    transport.leased();
  }

  /** The key of the endpoint that is leased. */
  get key(): string {
    return this.#transport.endpoint.key;
  }

  dispatch(options: RequestOptions, handler: ResponseHandler): void {
    const exchange = this.#start(options, handler);
    if (exchange !== undefined) {
      this.#transport.submit(exchange);
    }
  }

  [Symbol.dispose](): void {
    if (!this.#released) {
      this.#released = true;
      this.#transport.unleased();
    }
  }
}
