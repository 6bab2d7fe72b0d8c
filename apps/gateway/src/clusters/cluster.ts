/**
 * One cluster: where it is, by which credential it is asked, and how it was found last. It owns the identity through which
 * requests go out, so that its end is the end of everything that is under way to it.
 */

import { KubernetesError, clusterProxyDialer } from '@roundhouse/kubernetes';
import { Endpoint, RoundhouseError, TlsMaterial } from '@roundhouse/transport';
import type {
  Identity,
  IdentityOptions,
  MaterialStatus,
  Protocol,
  ProxyChoice,
  RequestKind,
  RequestOptions,
  ResponseHandler,
  TransportPool,
  UpgradeAnswer,
  UpgradeOptions,
} from '@roundhouse/transport';
import type {
  ClusterAccess,
  ContextResolution,
  Credential,
  CredentialOutcome,
  CredentialSource,
  ExecSources,
  PresentCredential,
} from '@roundhouse/kubernetes';
import { GatewayError } from '../errors.ts';
import type { IdentityMode } from '../identity/identity-mode.ts';
import { ClusterCredential, credentialUnavailable } from './cluster-credential.ts';
import { contactFailures } from './contact-failures.ts';
import { pathNameOf } from './path-name.ts';
import { alpnPolicyOf } from './upstream-alpn.ts';
import type { UpstreamAlpn } from './upstream-alpn.ts';

/**
 * - `unknown`: nothing was asked of it yet.
 * - `ready`: it answered last time.
 * - `unreachable`: it could not be reached, or not be verified, or there was no credential for it, last time.
 * - `stale`: its configuration, or a certificate in it, has become unusable; the last good one is in use.
 * - `refused`: there is no configuration that can be used.
 */
export type ClusterState = 'unknown' | 'ready' | 'unreachable' | 'stale' | 'refused';

export interface ClusterError {
  readonly code: string;
  readonly message: string;
  readonly at: Date;
}

export interface ClusterOptions {
  readonly pool: TransportPool;
  readonly identityMode: IdentityMode;
  readonly alpn: UpstreamAlpn;
  /** For a cluster whose kubeconfig names no proxy. Default: it is reached directly. */
  readonly proxyOf?: ProxyChoice | undefined;
  readonly execSources: ExecSources;
  /** Has the source read its files now. */
  readonly reread: (source: string) => Promise<void>;
  /** The credential that the kubeconfig has is another one. */
  readonly onCredentialChanged: () => void;
  /** Of the CA and the client certificate that the source has for it. */
  readonly materialOf: (source: string) => MaterialStatus | undefined;
  /** What becomes of upgraded sessions when its address or its certificates change. Default: they may go on for a while. */
  readonly upgradePolicy?: IdentityOptions['upgradePolicy'];
}

/** A credential that was refused after it had been read anew is not tried twice again for so long. */
const refusedRestMs = 10_000;

/** For a short request that is under way at a server that is no longer the cluster's. */
const movedTimeoutMs = 1_000;

/** What is known of a cluster that can be asked. Replaced as a whole. */
interface Reach {
  readonly access: ClusterAccess;
  readonly endpoint: Endpoint;
  readonly identity: Identity;
}

export class Cluster {
  readonly name: string;
  /** In paths: `/clusters/<pathName>/`. */
  readonly pathName: string;
  /** Where its configuration comes from, for people. */
  readonly source: string;
  readonly identityMode: IdentityMode;
  readonly #options: ClusterOptions;
  readonly #credential: ClusterCredential;
  /** By what it was asked last, or is about to be. */
  #shown: PresentCredential | undefined;
  #reach: Reach | undefined;
  /** Of identities that were left for another server. */
  #generations = 0;
  /** They end what they carry; each takes itself out when it has. */
  readonly #leaving = new Set<Promise<void>>();
  #refusal: KubernetesError | undefined;
  #lastContact: 'never' | 'answered' | 'failed' = 'never';
  #lastError: ClusterError | undefined;
  #lastAnswerAt: Date | undefined;
  #credentialRestsUntil = 0;

  constructor(name: string, source: string, options: ClusterOptions) {
    this.name = name;
    this.pathName = pathNameOf(name);
    this.source = source;
    this.identityMode = options.identityMode;
    this.#options = options;
    this.#credential = new ClusterCredential({
      name,
      execSources: options.execSources,
      reread: () => options.reread(source),
      onOutcome: (outcome) => this.#credentialOutcome(outcome),
    });
  }

  get state(): ClusterState {
    if (this.#reach === undefined) {
      return 'refused';
    }
    if (this.#lastContact === 'failed') {
      return 'unreachable';
    }
    if (this.#refusal !== undefined || this.#badMaterial !== undefined) {
      return 'stale';
    }
    return this.#lastContact === 'never' ? 'unknown' : 'ready';
  }

  /** Why it is in a bad state; the last failure otherwise, which may be long over. */
  get lastError(): ClusterError | undefined {
    return this.#badMaterial ?? this.#lastError;
  }

  /** What is known of its certificates and of the files that they come from; undefined where it has none of its own. */
  get material(): MaterialStatus | undefined {
    return this.#options.materialOf(this.source);
  }

  get #badMaterial(): ClusterError | undefined {
    const { material } = this;
    for (const status of [material?.ca, material?.pair]) {
      if (status?.error !== undefined && status.errorSince !== undefined) {
        const { error, errorSince } = status;
        return {
          code: RoundhouseError.is(error) ? error.code : 'ERR_RH_MATERIAL_UNAVAILABLE',
          message: error.message,
          at: errorSince,
        };
      }
    }
    return undefined;
  }

  get lastAnswerAt(): Date | undefined {
    return this.#lastAnswerAt;
  }

  /** `https://host:port/base/path`; undefined when it is refused. */
  get server(): string | undefined {
    return this.#reach === undefined ? undefined : this.#reach.access.server + this.#reach.access.basePath;
  }

  get basePath(): string {
    return this.#reach?.access.basePath ?? '';
  }

  get insecure(): boolean {
    return this.#reach?.access.insecure ?? false;
  }

  /** Of the certificate by which the gateway shows itself. */
  get certificateExpiresAt(): Date | undefined {
    return this.#reach?.endpoint.material.certExpiresAt;
  }

  get caExpiresAt(): Date | undefined {
    return this.#reach?.endpoint.material.caExpiresAt;
  }

  get inFlight(): number {
    return this.#reach?.identity.inFlight ?? 0;
  }

  /** Counts the endpoints that it has had. */
  get generation(): number {
    return this.#reach === undefined ? 0 : this.#generations + this.#reach.identity.generation;
  }

  /** What requests of each kind go over; undefined where the next connection will tell. */
  get protocols(): Readonly<Record<RequestKind, Protocol | undefined>> {
    return this.#reach?.identity.protocols ?? { unary: undefined, stream: undefined };
  }

  /** The gateway's own, for this cluster. */
  get credential(): Pick<CredentialSource, 'error' | 'expiresAt'> & { readonly kind: Credential['kind'] } {
    return this.#credential;
  }

  /** What the gateway shows to it now; undefined where that has to be obtained first. */
  presentCredential(): PresentCredential | undefined {
    const credential = this.#credential.present();
    if (credential !== undefined) {
      this.#show(credential);
    }
    return credential;
  }

  /** @throws ERR_RH_CREDENTIAL_UNAVAILABLE */
  async obtainCredential(): Promise<PresentCredential> {
    try {
      const credential = await this.#credential.get();
      this.#show(credential);
      return credential;
    } catch (cause) {
      this.#lastContact = 'failed';
      throw credentialUnavailable(this.name, cause);
    }
  }

  /** @throws ERR_RH_CLUSTER_REFUSED when it cannot be asked */
  dispatch(options: RequestOptions, handler: ResponseHandler): void {
    this.#reached().identity.dispatch(options, handler);
  }

  /** @throws ERR_RH_CLUSTER_REFUSED, and what `Identity.upgrade` throws */
  async upgrade(options: UpgradeOptions): Promise<UpgradeAnswer> {
    try {
      return await this.#reached().identity.upgrade(options);
    } catch (error) {
      if (error instanceof Error) {
        this.failed(error);
      }
      throw error;
    }
  }

  answered(): void {
    this.#lastContact = 'answered';
    this.#lastAnswerAt = new Date();
  }

  /** Only what says something about the cluster is noted, not a caller that went away. */
  failed(error: Error): void {
    if (!RoundhouseError.is(error) || !contactFailures.has(error.code)) {
      return;
    }
    this.#lastContact = 'failed';
    if (error.code === 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED') {
      this.#credentialRestsUntil = Date.now() + refusedRestMs;
    }
    this.#note(error);
  }

  /** It has refused that one of ours: another one is looked for. Whether it is worth asking once more. */
  async renewCredential(refused: PresentCredential): Promise<boolean> {
    if (Date.now() < this.#credentialRestsUntil) {
      return false;
    }
    await this.#credential.renew(refused);
    return this.#reach !== undefined;
  }

  /** Takes a configuration as it was read. Equal content changes nothing; what is broken leaves the last good in use. */
  configure(resolution: ContextResolution): void {
    if ('refusal' in resolution) {
      this.#refuse(resolution.refusal);
      return;
    }
    try {
      this.#reachBy(resolution);
      this.#refusal = undefined;
    } catch (error) {
      if (!RoundhouseError.is(error)) {
        throw error;
      }
      this.#refuse(
        new KubernetesError(
          'ERR_RH_CONTEXT_UNUSABLE',
          `context ${this.name} cannot be used: ${error.message}`,
          { cause: error },
        ),
      );
    }
  }

  /** Ends what is under way to it, now. */
  async close(reason: Error): Promise<void> {
    const identity = this.#reach?.identity;
    this.#reach = undefined;
    this.#shown = undefined;
    await Promise.all([identity?.destroy(reason), this.#credential[Symbol.asyncDispose](), ...this.#leaving]);
  }

  #reached(): Reach {
    if (this.#reach === undefined) {
      throw new GatewayError(
        'ERR_RH_CLUSTER_REFUSED',
        `cluster ${this.name} is not served: ${this.#reasonForCallers()}`,
      );
    }
    return this.#reach;
  }

  /** Files and their states are for those who run the gateway. */
  #reasonForCallers(): string {
    return this.#refusal !== undefined && wasMeant(this.#refusal)
      ? this.#refusal.message
      : 'its configuration cannot be used';
  }

  #refuse(refusal: KubernetesError): void {
    if (this.#refusal?.message !== refusal.message) {
      this.#note(refusal);
    }
    this.#refusal = refusal;
    if (wasMeant(refusal)) {
      void this.close(refusal);
    }
  }

  /** @throws RoundhouseError, and then nothing of it is taken */
  #reachBy(access: ClusterAccess): void {
    this.#endpointOf(access);
    // Whoever passes the caller's token through needs no credential of ours.
    this.#credential.take(this.identityMode === 'passthrough' ? { kind: 'none' } : access.credential);
    this.#shown = this.#credential.present() ?? this.#shown;
    this.#pointAt(access);
  }

  #pointAt(access: ClusterAccess): void {
    const endpoint = this.#endpointOf(access);
    const present = this.#reach;
    const moved = present !== undefined && !isSamePlace(present, { access, endpoint });
    if (moved || (present !== undefined && present.endpoint.key !== endpoint.key)) {
      // It is another server, or another way of showing ourselves to it: what was seen of the old one says nothing.
      this.#lastContact = 'never';
      if (moved) {
        this.#leave(present.identity);
      } else {
        present.identity.rotate(endpoint);
      }
    }
    if (present?.endpoint.key !== endpoint.key) {
      this.#credentialRestsUntil = 0;
    }
    this.#reach = {
      access,
      endpoint,
      identity:
        present !== undefined && !moved
          ? present.identity
          : this.#options.pool.identity(this.name, endpoint, {
              upgradePolicy: this.#options.upgradePolicy,
            }),
    };
  }

  /** What answers there is no longer this cluster, so nothing goes on there in its name but what ends at once. */
  #leave(identity: Identity): void {
    this.#generations += identity.generation;
    const reason = new Error(`cluster ${this.name} has moved to another server`);
    const leaving = identity
      .close({ timeoutMs: movedTimeoutMs, reason })
      .finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  #credentialOutcome(outcome: CredentialOutcome): void {
    if (outcome.result === 'failed') {
      this.#note(outcome.error);
    }
    if (outcome.result !== 'changed') {
      return;
    }
    this.#credentialRestsUntil = 0;
    if (this.#credential.kind !== 'exec') {
      this.#options.onCredentialChanged();
    } else {
      this.#show(outcome.credential);
    }
  }

  /** Another client certificate is another endpoint, before anything is sent by it. */
  #show(credential: PresentCredential): void {
    const former = this.#shown;
    if (credential === former) {
      return;
    }
    this.#shown = credential;
    if (this.#reach !== undefined && former?.clientPair?.cert !== credential.clientPair?.cert) {
      this.#pointAt(this.#reach.access);
    }
  }

  #endpointOf(access: ClusterAccess): Endpoint {
    const tls = access.server.startsWith('https:');
    // Whoever passes the caller's token through must not show a certificate of the gateway's beside it: the cluster would
    // take the certificate's word first.
    const material =
      this.identityMode === 'passthrough' ? access.serverTrust : this.#withPluginsPair(access.material);
    const proxy = this.#options.proxyOf?.(access.server);
    const { serverTrust } = access;
    return Endpoint.from({
      url: access.server,
      dialer: access.dialer ?? (proxy === undefined ? undefined : clusterProxyDialer(proxy, serverTrust)),
      ...(tls && {
        material,
        insecure: access.insecure,
        serverName: access.serverName,
        alpn: alpnPolicyOf(this.#options.alpn),
      }),
    });
  }

  /** The client certificate of a plugin is shown where the kubeconfig has none, as for client-go. */
  #withPluginsPair(material: TlsMaterial): TlsMaterial {
    const pair = this.#shown?.clientPair;
    return pair === undefined || material.certDigest !== undefined
      ? material
      : material.withPairOf(TlsMaterial.fromPem(pair));
  }

  #note(error: RoundhouseError): void {
    this.#lastError = { code: error.code, message: error.message, at: new Date() };
  }
}

type Place = Pick<Reach, 'access' | 'endpoint'>;

/** Behind one address there may be many clusters, told apart by the path. */
function isSamePlace(one: Place, other: Place): boolean {
  return (
    one.endpoint.origin === other.endpoint.origin &&
    one.endpoint.serverName === other.endpoint.serverName &&
    one.access.basePath === other.access.basePath
  );
}

/** What is unusable may be half-written; what is unsupported or forbidden was meant. */
function wasMeant({ code }: KubernetesError): boolean {
  return code === 'ERR_RH_CONTEXT_UNSUPPORTED' || code === 'ERR_RH_EXEC_PLUGIN_FORBIDDEN';
}
