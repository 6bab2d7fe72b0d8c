/** A connection that is being opened: its time limit, and the way to give it up. It owns the socket until it hands it over. */

import type { Clock } from './clock.ts';
import type { AlpnOffer, Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import { dialEndpoint } from './secure-dial.ts';
import type { DialedSocket, TlsState } from './secure-dial.ts';

export class Dial {
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #controller = new AbortController();
  #cancelled = false;

  constructor(endpoint: Endpoint, clock: Clock, timeoutMs: number) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Whether it was given up by us; its failure is then nobody's. */
  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** @param alpn what to offer */
  async open(tls: TlsState | undefined, alpn: AlpnOffer): Promise<DialedSocket> {
    const timer = this.#clock.setTimeout(() => this.#controller.abort(this.#timeoutError()), this.#timeoutMs);
    try {
      return await dialEndpoint(this.#endpoint, tls, alpn, this.#controller.signal);
    } finally {
      timer.cancel();
    }
  }

  cancel(reason: TransportError): void {
    this.#cancelled = true;
    this.#controller.abort(reason);
  }

  #timeoutError(): TransportError {
    return new TransportError(
      'ERR_RH_DIAL_TIMEOUT',
      `no connection to ${this.#endpoint.origin} was made within ${this.#timeoutMs} ms`,
    );
  }
}
