/**
 * A bearer token in a file, such as a pod's own: followed live by content, the last good one kept. Read once per interval, when a
 * file event says so, and when a cluster has refused it.
 */

import { FileFollower, systemClock } from '@roundhouse/transport';
import type { Clock } from '@roundhouse/transport';
import { KubernetesError } from '../errors.ts';
import { bearerTokenIn } from './bearer-token.ts';
import type { CredentialOutcome, CredentialSource } from './credential-source.ts';
import { PresentCredential } from './present-credential.ts';
import { endOfToken } from './token-end.ts';

export interface TokenFileOptions {
  readonly path: string;
  /** The longest time in which a change stays unseen where file events do not reach. Default 60 s, as for client-go. */
  readonly intervalMs?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Told of each change, and once of each content that cannot be used. */
  readonly onOutcome?: ((outcome: CredentialOutcome) => void) | undefined;
}

const defaultIntervalMs = 60_000;

/** The shortest time between two looks that a refused token has caused. */
const forcedGapMs = 1_000;

/** Tokens with many groups in them have some KiB. */
const maxTokenBytes = 1_048_576;

export class TokenFile implements CredentialSource {
  readonly #follower: FileFollower<PresentCredential>;
  readonly #clock: Clock;
  #forcedAt = Number.NEGATIVE_INFINITY;

  private constructor(follower: FileFollower<PresentCredential>, clock: Clock) {
    this.#follower = follower;
    this.#clock = clock;
  }

  /** @throws ERR_RH_TOKEN_FILE_UNUSABLE */
  static async open(options: TokenFileOptions): Promise<TokenFile> {
    const { path, intervalMs = defaultIntervalMs, clock = systemClock, onOutcome } = options;
    const follower = await FileFollower.open<PresentCredential>({
      load: async (read) => credentialIn(path, await read(path).catch((cause) => unreadable(path, cause))),
      onChange: (credential) => onOutcome?.({ result: 'changed', credential }),
      onError: (error) => onOutcome?.({ result: 'failed', error: asUnusable(path, error) }),
      intervalMs,
      maxBytes: maxTokenBytes,
      clock,
    });
    return new TokenFile(follower, clock);
  }

  get error(): KubernetesError | undefined {
    const { error } = this.#follower;
    return error instanceof KubernetesError ? error : undefined;
  }

  /** By its own word, which may be wrong: it is shown beyond that, too. */
  get expiresAt(): Date | undefined {
    return this.#follower.value.expiresAt;
  }

  present(): PresentCredential {
    return this.#follower.value;
  }

  async get(): Promise<PresentCredential> {
    return this.#follower.value;
  }

  async renew(refused: PresentCredential): Promise<void> {
    const now = this.#clock.now();
    if (this.#follower.value.equals(refused) && now >= this.#forcedAt + forcedGapMs) {
      this.#forcedAt = now;
      await this.#follower.look();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#follower[Symbol.asyncDispose]();
  }
}

function credentialIn(path: string, content: Buffer): PresentCredential {
  const token = bearerTokenIn(content.toString());
  if (token === undefined) {
    throw unusable(path, 'it is empty or has characters that a token cannot have');
  }
  return new PresentCredential({ token, expiresAt: endOfToken(token) });
}

function unreadable(path: string, cause: unknown): never {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
  throw unusable(path, `it cannot be read (${code})`, cause);
}

function asUnusable(path: string, error: Error): KubernetesError {
  return error instanceof KubernetesError ? error : unusable(path, error.message, error);
}

function unusable(path: string, reason: string, cause?: unknown): KubernetesError {
  return new KubernetesError(
    'ERR_RH_TOKEN_FILE_UNUSABLE',
    `the token file ${path} cannot be used: ${reason}`,
    {
      cause,
    },
  );
}
