/** Ids of requests: 64 random bits each, so that ids of several gateways do not meet and none tells how many there were. */

import { randomFillSync } from 'node:crypto';

const idBytes = 8;

export class RequestIds {
  /** Drawn for many at a time: a call of its own each is 3 % of a short request. */
  readonly #bytes = Buffer.allocUnsafeSlow(512 * idBytes);
  #next = this.#bytes.length;

  next(): string {
    if (this.#next === this.#bytes.length) {
      randomFillSync(this.#bytes);
      this.#next = 0;
    }
    const id = this.#bytes.toString('hex', this.#next, this.#next + idBytes);
    this.#next += idBytes;
    return id;
  }
}
