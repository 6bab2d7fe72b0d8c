/** A credential that somebody else reads and gives, for instance with the kubeconfig in which it stands or that names its file. */

import type { CredentialSource } from './credential-source.ts';
import type { PresentCredential } from './present-credential.ts';

export class GivenCredential implements CredentialSource {
  /** What cannot be read is known to whoever reads it; the last good one stays. */
  readonly error = undefined;
  readonly #reread: () => Promise<void>;
  #present: PresentCredential;

  /** @param reread has whoever gives it look whether there is another one, and give that */
  constructor(present: PresentCredential, reread: () => Promise<void>) {
    this.#present = present;
    this.#reread = reread;
  }

  get expiresAt(): Date | undefined {
    return this.#present.expiresAt;
  }

  /** Shown also when it should be over: clocks differ, and it is the cluster that judges. */
  present(): PresentCredential {
    return this.#present;
  }

  async get(): Promise<PresentCredential> {
    return this.#present;
  }

  give(present: PresentCredential): void {
    this.#present = present;
  }

  async renew(refused: PresentCredential): Promise<void> {
    if (this.#present.equals(refused)) {
      // Whoever reads it tells of what cannot be read.
      await this.#reread().catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing is held.
  }
}
