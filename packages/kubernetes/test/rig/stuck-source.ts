/** A credential that is long in coming, as from a plugin that hangs. */

import { PresentCredential } from '../../src/index.ts';
import type { CredentialSource } from '../../src/index.ts';

export class StuckSource implements CredentialSource {
  readonly error = undefined;
  readonly expiresAt = undefined;
  /** How many calls have come to wait. */
  waiting = 0;
  readonly #coming = Promise.withResolvers<PresentCredential>();
  #present: PresentCredential | undefined;

  /** @param token what is there at first */
  constructor(token: string | undefined) {
    this.#present = token === undefined ? undefined : new PresentCredential({ token });
  }

  bring(token: string): void {
    this.#present = new PresentCredential({ token });
    this.#coming.resolve(this.#present);
  }

  present(): PresentCredential | undefined {
    return this.#present;
  }

  get(): Promise<PresentCredential> {
    this.waiting += 1;
    return this.#coming.promise;
  }

  async renew(): Promise<void> {
    this.waiting += 1;
    await this.#coming.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
