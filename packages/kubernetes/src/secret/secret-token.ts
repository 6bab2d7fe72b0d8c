/** A bearer token in a Secret that is followed: the last good one is kept, and the Secret is read anew when a cluster refuses it. */

import type { Clock } from '@roundhouse/transport';
import { bearerTokenIn } from '../credentials/bearer-token.ts';
import type { CredentialSource } from '../credentials/credential-source.ts';
import { PresentCredential } from '../credentials/present-credential.ts';
import { endOfToken } from '../credentials/token-end.ts';
import { KubernetesError } from '../errors.ts';

export interface SecretTokenOptions {
  /** For messages: which Secret, and which key of it. */
  readonly what: string;
  /** Resolves when something was given, or never will be. */
  readonly known: Promise<void>;
  /** Reads the Secret now and gives what is in it. Never rejects. */
  readonly reread: () => Promise<void>;
  readonly clock: Clock;
}

/** The shortest time between two reads that a refused token has caused; what changes meanwhile is told by the watch. */
const forcedGapMs = 10_000;

export class SecretToken implements CredentialSource {
  readonly #options: SecretTokenOptions;
  #present: PresentCredential | undefined;
  #error: KubernetesError | undefined;
  #rereading: Promise<void> | undefined;
  #forcedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SecretTokenOptions) {
    this.#options = options;
  }

  get error(): KubernetesError | undefined {
    return this.#error;
  }

  get expiresAt(): Date | undefined {
    return this.#present?.expiresAt;
  }

  /** Shown also when it should be over: clocks differ, and it is the cluster that judges. */
  present(): PresentCredential | undefined {
    return this.#present;
  }

  async get(): Promise<PresentCredential> {
    if (this.#present === undefined && this.#error === undefined) {
      await this.#options.known;
    }
    if (this.#present === undefined) {
      throw this.#error ?? this.#unusable('has not been read yet');
    }
    return this.#present;
  }

  async renew(refused: PresentCredential): Promise<void> {
    if (this.#present?.equals(refused) === false) {
      return;
    }
    if (this.#rereading === undefined) {
      const now = this.#options.clock.now();
      if (now < this.#forcedAt + forcedGapMs) {
        return;
      }
      this.#forcedAt = now;
      this.#rereading = this.#options.reread().finally(() => {
        this.#rereading = undefined;
      });
    }
    await this.#rereading;
  }

  /** What was found; an error says why there is nothing. */
  give(content: Buffer | KubernetesError): void {
    if (content instanceof KubernetesError) {
      this.#error = content;
      return;
    }
    const token = bearerTokenIn(content.toString());
    if (token === undefined) {
      this.#error = this.#unusable('has characters that a token cannot have');
      return;
    }
    this.#error = undefined;
    this.#present = new PresentCredential({ token, expiresAt: endOfToken(token) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The Secret is followed by whoever gives.
  }

  #unusable(reason: string): KubernetesError {
    return new KubernetesError('ERR_RH_SECRET_UNUSABLE', `${this.#options.what} ${reason}`);
  }
}
