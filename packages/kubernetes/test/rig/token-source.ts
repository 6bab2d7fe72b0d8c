/** A credential that a test changes: a token, and the one that is there when it is obtained anew. */

import { PresentCredential } from '../../src/index.ts';
import type { CredentialSource } from '../../src/index.ts';

export class TokenSource implements CredentialSource {
  readonly error = undefined;
  readonly expiresAt = undefined;
  /** What the next renewal brings. */
  next: string;
  /** How often it was obtained anew. */
  renewals = 0;
  #present: PresentCredential;

  constructor(token: string) {
    this.next = token;
    this.#present = new PresentCredential({ token });
  }

  present(): PresentCredential {
    return this.#present;
  }

  async get(): Promise<PresentCredential> {
    return this.#present;
  }

  async renew(refused: PresentCredential): Promise<void> {
    if (this.#present.equals(refused)) {
      this.renewals += 1;
      this.#present = new PresentCredential({ token: this.next });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
