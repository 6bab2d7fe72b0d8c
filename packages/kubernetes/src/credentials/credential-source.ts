/** Where the credential for a cluster comes from, as those who use it see it. */

import type { KubernetesError } from '../errors.ts';
import type { PresentCredential } from './present-credential.ts';

export interface CredentialSource extends AsyncDisposable {
  /** What to show now, which also says that it is in use. Undefined: it has to be asked for by `get`. Reads and runs nothing. */
  present(): PresentCredential | undefined;
  /** Why the last attempt to obtain it failed; undefined after a good one, and before the first. */
  readonly error: KubernetesError | undefined;
  /** When what is there ends; undefined: it does not say, or there is nothing. */
  readonly expiresAt: Date | undefined;
  /**
   * What to show now, obtained first where there is none or it is over. All who wait share one attempt, and none waits for long
   * after one that failed.
   *
   * @throws KubernetesError with the reason
   */
  get(): Promise<PresentCredential>;
  /**
   * A cluster did not accept this one: it is obtained anew, unless there is another one by now. Resolves when that is over, good
   * or bad; never rejects.
   */
  renew(refused: PresentCredential): Promise<void>;
}

/** What became of an attempt to obtain a credential. */
export type CredentialOutcome =
  | { readonly result: 'changed' | 'unchanged'; readonly credential: PresentCredential }
  | { readonly result: 'failed'; readonly error: KubernetesError };
