/**
 * A Secret as a source of TLS material and of a token, followed by a watch: what is changed in it is in use as soon as the server
 * tells of it, what cannot be used leaves the last good in use, and so does a Secret that is gone.
 */

import { MaterialSource, RoundhouseError } from '@roundhouse/transport';
import type { MaterialContent, MaterialPartName } from '@roundhouse/transport';
import type { KubeClient } from '../client/kube-client.ts';
import { isApiStatus } from '../client/api-status-error.ts';
import type { CredentialSource } from '../credentials/credential-source.ts';
import { KubernetesError } from '../errors.ts';
import { Informer } from '../informer/informer.ts';
import { secretBytes, secrets } from './secret.ts';
import type { Secret } from './secret.ts';
import { SecretToken } from './secret-token.ts';

/** Keys in the data of a Secret; what has none is not looked for. */
export interface SecretKeys {
  readonly ca?: string | undefined;
  /** With `key`. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly token?: string | undefined;
}

export interface SecretSourceOptions {
  readonly namespace: string;
  readonly name: string;
  /** Default: those of `kubernetes.io/tls` with the `ca.crt` that cert-manager adds. */
  readonly keys?: SecretKeys | undefined;
  /** Each failure to list, to watch or to re-read it; the first two are followed by another attempt. */
  readonly onError?: ((error: Error) => void) | undefined;
}

const tlsKeys: SecretKeys = { ca: 'ca.crt', cert: 'tls.crt', key: 'tls.key' };

export class SecretSource implements AsyncDisposable {
  /** For an identity's endpoint; what is wrong with the content is in its status and told to those who follow it. */
  readonly material: MaterialSource;
  /** Undefined where no key for a token is named. */
  readonly credential: CredentialSource | undefined;
  /** Resolves when the Secret is known, or known not to be there; rejects as `Informer.synced`. */
  readonly synced: Promise<void>;
  readonly #client: KubeClient;
  readonly #options: SecretSourceOptions;
  readonly #keys: SecretKeys;
  readonly #informer: Informer<Secret>;
  readonly #token: SecretToken | undefined;
  /** Resolves with the first word on what there is, good or bad. */
  readonly #known = Promise.withResolvers<void>();

  private constructor(client: KubeClient, options: SecretSourceOptions) {
    const { namespace, name, keys = tlsKeys } = options;
    this.#client = client;
    this.#options = options;
    this.#keys = keys;
    this.material = MaterialSource.pushed({ parts: partsOf(keys), clock: client.clock });
    // The names may be all that its reader may see: rules by resourceNames hold for this selector (k8s.io/apiserver, RBAC).
    this.#informer = Informer.open(client, secrets, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      onError: (error) => this.#failed(error),
    });
    this.synced = this.#informer.synced.then(() => this.#takeMissing());
    this.synced.catch(() => this.#known.resolve());
    this.#token =
      keys.token === undefined
        ? undefined
        : new SecretToken({
            what: `the ${keys.token} of ${this.#what}`,
            known: this.#known.promise,
            clock: client.clock,
            reread: () => this.#reread(),
          });
    this.credential = this.#token;
    this.#informer.subscribe({
      added: (secret) => this.#take(secret),
      updated: (secret) => this.#take(secret),
      deleted: () => this.#lack(`${this.#what} is gone`),
    });
  }

  /** Begins to read it at once. */
  static open(client: KubeClient, options: SecretSourceOptions): SecretSource {
    return new SecretSource(client, options);
  }

  get #what(): string {
    return `the Secret ${this.#options.namespace}/${this.#options.name}`;
  }

  /** What is in use stays so, and is followed no more. */
  async close(): Promise<void> {
    await this.#informer.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #take(secret: Secret): void {
    const content = (key: string | undefined): Buffer | KubernetesError | undefined =>
      key === undefined
        ? undefined
        : (secretBytes(secret, key) ?? this.#unusable(`${this.#what} has no ${key}`));
    const { ca, cert, key, token } = this.#keys;
    this.#give(content(ca), content(cert), content(key), content(token));
  }

  /** The same reason for everything that is looked for. */
  #lack(reason: string, cause?: unknown): void {
    const error = this.#unusable(reason, cause);
    const lacking = (key: string | undefined): KubernetesError | undefined =>
      key === undefined ? undefined : error;
    const { ca, cert, key, token } = this.#keys;
    this.#give(lacking(ca), lacking(cert), lacking(key), lacking(token));
  }

  #give(
    ca: MaterialContent | undefined,
    cert: MaterialContent | undefined,
    key: MaterialContent | undefined,
    token: Buffer | KubernetesError | undefined,
  ): void {
    this.material.push({ ca, cert, key });
    if (token !== undefined) {
      this.#token?.give(token);
    }
    this.#known.resolve();
  }

  #takeMissing(): void {
    const { namespace, name } = this.#options;
    if (this.#informer.get({ namespace, name }) === undefined) {
      this.#lack(`there is no ${this.#what.replace(/^the /, '')}`);
    }
  }

  #failed(error: Error): void {
    // Later on what was read last is good for as long as nothing else is known.
    if (!this.#informer.inspect().synced) {
      this.#lack(`${this.#what} cannot be read`, error);
    }
    this.#options.onError?.(error);
  }

  async #reread(): Promise<void> {
    const { namespace, name } = this.#options;
    try {
      this.#take(await this.#client.get(secrets, { namespace, name }));
    } catch (error) {
      if (!RoundhouseError.is(error)) {
        throw error;
      }
      if (isApiStatus(error, 404)) {
        this.#lack(`${this.#what} is gone`, error);
        return;
      }
      // It says nothing of the Secret: what is known of that is what the watch told last, and nothing would take this back.
      this.#options.onError?.(error);
    }
  }

  #unusable(reason: string, cause?: unknown): KubernetesError {
    return new KubernetesError('ERR_RH_SECRET_UNUSABLE', reason, { cause });
  }
}

function partsOf({ ca, cert, key }: SecretKeys): MaterialPartName[] {
  return [
    ...(ca === undefined ? [] : (['ca'] as const)),
    ...(cert === undefined && key === undefined ? [] : (['pair'] as const)),
  ];
}
