/**
 * By which credential one cluster is asked: what its kubeconfig has, followed with it, or what a plugin gives. Where it comes from
 * may change with the kubeconfig; those who ask see one source all along.
 */

import { GivenCredential, PresentCredential, endOfToken } from '@roundhouse/kubernetes';
import { RoundhouseError } from '@roundhouse/transport';
import { GatewayError } from '../errors.ts';
import type {
  Credential,
  CredentialOutcome,
  CredentialSource,
  ExecSources,
  KubernetesError,
} from '@roundhouse/kubernetes';

export interface ClusterCredentialOptions {
  /** Of the cluster. */
  readonly name: string;
  readonly execSources: ExecSources;
  /** Has the source of the kubeconfig read its files now. */
  readonly reread: () => Promise<void>;
  readonly onOutcome: (outcome: CredentialOutcome) => void;
}

export class ClusterCredential implements CredentialSource {
  readonly #options: ClusterCredentialOptions;
  #kind: Credential['kind'] = 'none';
  /** Undefined while there is no kubeconfig for it. */
  #source: CredentialSource | undefined;

  constructor(options: ClusterCredentialOptions) {
    this.#options = options;
  }

  get kind(): Credential['kind'] {
    return this.#kind;
  }

  get error(): KubernetesError | undefined {
    return this.#source?.error;
  }

  get expiresAt(): Date | undefined {
    return this.#source?.expiresAt;
  }

  present(): PresentCredential | undefined {
    return this.#source === undefined ? PresentCredential.none : this.#source.present();
  }

  async get(): Promise<PresentCredential> {
    for (;;) {
      const source = this.#source;
      const outcome = await settled(source?.get() ?? PresentCredential.none);
      // Another kubeconfig meanwhile may mean another server, which must not see what was meant for this one.
      if (source === this.#source) {
        return outcome();
      }
    }
  }

  async renew(refused: PresentCredential): Promise<void> {
    await this.#source?.renew(refused);
  }

  /** What the kubeconfig says now. Equal content changes nothing: a plugin is not run again. */
  take(credential: Credential): void {
    const former = this.#source;
    this.#kind = credential.kind;
    if (credential.kind === 'exec') {
      const { name, execSources, onOutcome } = this.#options;
      this.#source = execSources.open(credential.plugin, { name, onOutcome });
      leave(former);
      return;
    }
    const given = presentOf(credential);
    const known = former?.present();
    if (former instanceof GivenCredential) {
      former.give(given);
    } else {
      this.#source = new GivenCredential(given, this.#options.reread);
      leave(former);
    }
    if (former !== undefined && known?.equals(given) !== true) {
      this.#options.onOutcome({ result: 'changed', credential: given });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const former = this.#source;
    this.#source = undefined;
    this.#kind = 'none';
    await former?.[Symbol.asyncDispose]();
  }
}

/** Its end may take the grace of a plugin, and nobody here waits for that. */
function leave(source: CredentialSource | undefined): void {
  void source?.[Symbol.asyncDispose]();
}

/** To be looked at later: gives the value, or throws what it failed with. */
async function settled<T>(promise: T | Promise<T>): Promise<() => T> {
  try {
    const value = await promise;
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** A client certificate is in the TLS material. */
function presentOf(credential: Exclude<Credential, { kind: 'exec' }>): PresentCredential {
  return credential.kind === 'token'
    ? new PresentCredential({ token: credential.token, expiresAt: endOfToken(credential.token) })
    : PresentCredential.none;
}

/** Which program gives it and what is wrong with that is for those who run the gateway. */
export function credentialUnavailable(cluster: string, cause: unknown): GatewayError {
  const code = RoundhouseError.is(cause) ? ` (${cause.code})` : '';
  return new GatewayError(
    'ERR_RH_CREDENTIAL_UNAVAILABLE',
    `the gateway has no credential for cluster ${cluster} now: its credential plugin gives none${code}`,
    { cause },
  );
}
