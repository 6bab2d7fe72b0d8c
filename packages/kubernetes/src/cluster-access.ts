/**
 * From a context of a kubeconfig to what is needed to reach its cluster: address, trust, credential. A context that cannot
 * be used is a refusal with its reason, and spoils none of the others.
 */

import { dirname, resolve } from 'node:path';
import { RoundhouseError, TlsMaterial } from '@roundhouse/transport';
import type { Dialer, MaterialContents } from '@roundhouse/transport';
import { clusterProxyDialer } from './cluster-proxy.ts';
import { bearerTokenIn } from './credentials/bearer-token.ts';
import { execPluginOf } from './credentials/exec-plugin.ts';
import type { ExecPlugin, ExecPolicy } from './credentials/exec-plugin.ts';
import { KubernetesError } from './errors.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import type { Kubeconfig, KubeconfigCluster, KubeconfigExec, KubeconfigUser } from './kubeconfig.ts';

/** Reads a whole file. */
export type ReadMaterial = (path: string) => Promise<Uint8Array>;

export type Credential =
  | { readonly kind: 'none' }
  /** In `material`. */
  | { readonly kind: 'client-certificate' }
  /** For `Authorization: Bearer`. A client certificate may be in `material` besides. */
  | { readonly kind: 'token'; readonly token: string }
  /** To be obtained by running a program, which was not done. Its client certificate is shown where `material` has none. */
  | { readonly kind: 'exec'; readonly plugin: ExecPlugin };

export interface ClusterAccess {
  /** The name of the context. */
  readonly name: string;
  /** `https://host:port`, without a path. */
  readonly server: string;
  /** Put before every path: empty, or with a slash in front and none behind, for instance `/k8s/clusters/c-1`. */
  readonly basePath: string;
  readonly serverName: string | undefined;
  readonly insecure: boolean;
  /** The CA, and the client certificate when there is one. */
  readonly material: TlsMaterial;
  /** The CA alone, for whoever speaks to the cluster in another name than this user's. */
  readonly serverTrust: TlsMaterial;
  /** Through the proxy that its kubeconfig names; undefined: it names none. */
  readonly dialer: Dialer | undefined;
  readonly credential: Credential;
  readonly namespace: string | undefined;
}

export interface RefusedContext {
  readonly name: string;
  /** ERR_RH_CONTEXT_UNSUPPORTED: by its very nature. ERR_RH_CONTEXT_UNUSABLE: for now, for instance a file is missing. */
  readonly refusal: KubernetesError;
}

export type ContextResolution = ClusterAccess | RefusedContext;

/** What whoever reads a kubeconfig decides about it. */
export interface ResolveOptions {
  /** Which credential plugins may be run; default: none. Here none is run in any case. */
  readonly execPolicy?: ExecPolicy | undefined;
  /**
   * What is used of the CA and the client certificate that were found for a context; throws why nothing is. Default: exactly
   * those, or nothing. `origin` is another text when they belong to another cluster or user, or come from other files.
   */
  readonly materialOf?:
    | ((context: string, found: MaterialContents, origin: string) => TlsMaterial)
    | undefined;
  /** For whoever remembers what the same bytes were: a large kubeconfig takes a second. Default: `parseKubeconfig`. */
  readonly parse?: typeof parseKubeconfig | undefined;
}

/**
 * Every context of a kubeconfig file, in the order of the file.
 *
 * @throws ERR_RH_KUBECONFIG_INVALID, or what reading the file itself throws
 */
export async function loadKubeconfig(
  path: string,
  read: ReadMaterial,
  options: ResolveOptions = {},
): Promise<ReadonlyMap<string, ContextResolution>> {
  const kubeconfig = (options.parse ?? parseKubeconfig)(await read(path), path);
  const resolutions = new Map<string, ContextResolution>();
  for (const name of kubeconfig.contexts.keys()) {
    resolutions.set(name, await resolveContext(kubeconfig, name, dirname(path), read, options));
  }
  return resolutions;
}

/** @param folder what relative paths in the kubeconfig start from: its own folder */
export async function resolveContext(
  kubeconfig: Kubeconfig,
  name: string,
  folder: string,
  read: ReadMaterial,
  options: ResolveOptions = {},
): Promise<ContextResolution> {
  try {
    return await new Resolver(name, folder, read, options).resolve(kubeconfig);
  } catch (error) {
    if (error instanceof KubernetesError) {
      return { name, refusal: error };
    }
    if (RoundhouseError.is(error)) {
      return { name, refusal: unusable(name, error.message, error) };
    }
    throw error;
  }
}

class Resolver {
  readonly #name: string;
  readonly #folder: string;
  readonly #read: ReadMaterial;
  readonly #execPolicy: ExecPolicy;
  readonly #materialOf: NonNullable<ResolveOptions['materialOf']>;

  constructor(name: string, folder: string, read: ReadMaterial, { execPolicy, materialOf }: ResolveOptions) {
    this.#name = name;
    this.#folder = folder;
    this.#read = read;
    this.#execPolicy = execPolicy ?? { policy: 'DenyAll' };
    this.#materialOf = materialOf ?? exactly;
  }

  async resolve(kubeconfig: Kubeconfig): Promise<ClusterAccess> {
    const name = this.#name;
    const context = kubeconfig.contexts.get(name);
    if (context === undefined) {
      throw unusable(name, 'there is no such context');
    }
    const cluster = kubeconfig.clusters.get(context.cluster);
    if (cluster === undefined) {
      throw unusable(name, `there is no cluster "${context.cluster}"`);
    }
    const user = context.user === undefined ? anonymous : kubeconfig.users.get(context.user);
    if (user === undefined) {
      throw unusable(name, `there is no user "${context.user}"`);
    }
    this.#refuseUnsupported(user);
    const { server, basePath } = this.#address(cluster);
    const plain = server.startsWith('http:');
    if (plain && hasTlsOptions(cluster, user)) {
      throw unusable(name, 'TLS options are given for a server without TLS');
    }
    const { material, serverTrust, ca } = plain
      ? { material: TlsMaterial.none, serverTrust: TlsMaterial.none }
      : await this.#material(cluster, user, [context.cluster, context.user, server, basePath]);
    return {
      name,
      server,
      basePath,
      serverName: cluster.tlsServerName,
      insecure: cluster.insecureSkipTlsVerify,
      material,
      serverTrust,
      dialer: cluster.proxyUrl === undefined ? undefined : clusterProxyDialer(cluster.proxyUrl, serverTrust),
      credential: await this.#credential(user, material, (exec) =>
        execPluginOf(exec, { name, cluster, ca, folder: this.#folder, policy: this.#execPolicy }),
      ),
      namespace: context.namespace,
    };
  }

  #refuseUnsupported(user: KubeconfigUser): void {
    const [field] = user.unsupported;
    if (field !== undefined) {
      throw unsupported(this.#name, unsupportedNames[field] ?? `the user field ${field}`);
    }
  }

  #address({ server }: KubeconfigCluster): { server: string; basePath: string } {
    const url = server === undefined ? null : URL.parse(server);
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '') {
      throw unusable(this.#name, 'its server is not an http:// or https:// URL');
    }
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
      throw unusable(this.#name, 'its server has user information, a query or a fragment in it');
    }
    return { server: url.origin, basePath: url.pathname.replace(/\/+$/, '') };
  }

  async #material(
    cluster: KubeconfigCluster,
    user: KubeconfigUser,
    party: readonly (string | undefined)[],
  ): Promise<Pick<ClusterAccess, 'material' | 'serverTrust'> & { readonly ca?: Uint8Array | undefined }> {
    const ca = await this.#content(
      'certificate-authority',
      cluster.certificateAuthorityData,
      cluster.certificateAuthority,
    );
    if (ca !== undefined && cluster.insecureSkipTlsVerify) {
      throw unusable(
        this.#name,
        'it has a certificate-authority and insecure-skip-tls-verify, which exclude each other',
      );
    }
    const cert = await this.#content(
      'client-certificate',
      user.clientCertificateData,
      user.clientCertificate,
    );
    const key = await this.#content('client-key', user.clientKeyData, user.clientKey);
    const files = [cluster.certificateAuthority, user.clientCertificate, user.clientKey];
    const origin = JSON.stringify([...party, ...files].map((text) => text ?? null));
    const material = this.#materialOf(this.#name, { ca, cert, key }, origin);
    const serverTrust = material.withPairOf(TlsMaterial.none);
    return { material, serverTrust, ca: ca instanceof Error ? undefined : ca };
  }

  async #credential(
    user: KubeconfigUser,
    material: TlsMaterial,
    pluginOf: (exec: KubeconfigExec) => ExecPlugin,
  ): Promise<Credential> {
    // With both, the file is the newer one (client-go: "TokenFile ... takes precedence over Token").
    const token =
      user.tokenFile === undefined ? user.token : (await this.#file('tokenFile', user.tokenFile)).toString();
    if (token !== undefined) {
      return {
        kind: 'token',
        token:
          bearerTokenIn(token) ??
          fail(unusable(this.#name, 'its token is empty or has characters that a token cannot have')),
      };
    }
    // A token wins over a plugin, as for kubectl.
    if (user.exec !== undefined) {
      return { kind: 'exec', plugin: pluginOf(user.exec) };
    }
    return { kind: material.certDigest === undefined ? 'none' : 'client-certificate' };
  }

  /** Inline data wins over a file, as in kubectl. What cannot be read or decoded is told, and spoils no other part. */
  async #content(
    field: string,
    data: string | undefined,
    path: string | undefined,
  ): Promise<Uint8Array | KubernetesError | undefined> {
    if (data !== undefined) {
      return decodeBase64(data) ?? unusable(this.#name, `its ${field}-data is not base64`);
    }
    return path === undefined ? undefined : this.#file(field, path).catch(asKubernetesError);
  }

  async #file(field: string, path: string): Promise<Buffer> {
    try {
      return Buffer.from(await this.#read(resolve(this.#folder, path)));
    } catch (cause) {
      const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason';
      throw unusable(this.#name, `its ${field} ${path} cannot be read (${reason})`, cause);
    }
  }
}

const anonymous: KubeconfigUser = {
  clientCertificate: undefined,
  clientCertificateData: undefined,
  clientKey: undefined,
  clientKeyData: undefined,
  token: undefined,
  tokenFile: undefined,
  exec: undefined,
  unsupported: [],
};

const unsupportedNames: Readonly<Record<string, string>> = {
  'auth-provider': 'an auth-provider',
  username: 'basic authentication',
  password: 'basic authentication',
  as: 'impersonation (as)',
};

function hasTlsOptions(cluster: KubeconfigCluster, user: KubeconfigUser): boolean {
  return (
    cluster.insecureSkipTlsVerify ||
    [
      cluster.tlsServerName,
      cluster.certificateAuthority,
      cluster.certificateAuthorityData,
      user.clientCertificate,
      user.clientCertificateData,
      user.clientKey,
      user.clientKeyData,
    ].some((value) => value !== undefined)
  );
}

/** Node.js skips what is not base64; a kubeconfig that was cut must not pass for a shorter one. */
function decodeBase64(data: string): Uint8Array | undefined {
  const text = data.replaceAll(/\s/g, '');
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)
    ? Buffer.from(text, 'base64')
    : undefined;
}

function unusable(name: string, reason: string, cause?: unknown): KubernetesError {
  return new KubernetesError('ERR_RH_CONTEXT_UNUSABLE', `context ${name} cannot be used: ${reason}`, {
    cause,
  });
}

function unsupported(name: string, what: string): KubernetesError {
  return new KubernetesError(
    'ERR_RH_CONTEXT_UNSUPPORTED',
    `context ${name} uses ${what}, which is not supported yet`,
  );
}

/** All of it or nothing. */
function exactly(_context: string, { ca, cert, key }: MaterialContents): TlsMaterial {
  const bytes = (content: MaterialContents['ca']): string | Uint8Array | undefined =>
    content instanceof Error ? fail(content) : content;
  return TlsMaterial.fromPem({ ca: bytes(ca), cert: bytes(cert), key: bytes(key) });
}

function asKubernetesError(error: unknown): KubernetesError {
  return error instanceof KubernetesError ? error : fail(error);
}

function fail(error: unknown): never {
  throw error;
}
