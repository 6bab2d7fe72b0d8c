/** The upgraded connections of one transport, from the question to the end of the socket. */

import { upgradeRefusalOf } from './admission.ts';
import type { Dials } from './dials.ts';
import type { Endpoint } from './endpoint.ts';
import type { TransportError } from './errors.ts';
import type { Upgrade, UpgradeOwner } from './upgrade.ts';

export class Upgrades implements UpgradeOwner {
  readonly #endpoint: Endpoint;
  readonly #dials: Dials;
  readonly #most: number;
  readonly #onEnded: () => void;
  /** Each leaves when its socket is gone. */
  readonly #upgrades = new Set<Upgrade>();

  constructor(endpoint: Endpoint, dials: Dials, most: number, onEnded: () => void) {
    this.#endpoint = endpoint;
    this.#dials = dials;
    this.#most = most;
    this.#onEnded = onEnded;
  }

  get size(): number {
    return this.#upgrades.size;
  }

  /** Why one more is not taken; undefined when it is. */
  get refusal(): TransportError | undefined {
    return upgradeRefusalOf(this.#upgrades.size, this.#most, `to ${this.#endpoint.origin}`);
  }

  start(upgrade: Upgrade): void {
    upgrade.owners.add(this);
    this.#upgrades.add(upgrade);
    void upgrade.ask(this.#endpoint, (signal) => this.#dials.openApart(signal));
  }

  failAll(error: TransportError): void {
    for (const upgrade of this.#upgrades) {
      upgrade.fail(error);
    }
  }

  upgradeEnded(upgrade: Upgrade): void {
    if (this.#upgrades.delete(upgrade)) {
      this.#onEnded();
    }
  }
}
