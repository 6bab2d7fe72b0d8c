/** A simulated cluster and a client of it over a pool of its own, TLS and all. */

import { CertificateAuthority, KubeApiserver } from '@roundhouse/simulators';
import type { KubeApiserverOptions, KubeObject as Stored } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';
import type { Identity, Limits } from '@roundhouse/transport';
import { KubeClient, asItCame } from '../../src/index.ts';
import type { ApiAccess, KubeObject, ResourceType } from '../../src/index.ts';

const authority = await CertificateAuthority.create();
const serving = await authority.issue({ commonName: 'api', ipAddresses: ['127.0.0.1'], usage: 'server' });
const admin = await authority.issue({
  commonName: 'admin',
  organizations: ['system:masters'],
  usage: 'client',
});

export const configMaps: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  read: asItCame,
};

/** As the rig's servers see an administrator who shows another certificate than the last one. */
export async function anotherAdmin(commonName: string): Promise<TlsMaterial> {
  const pair = await authority.issue({ commonName, organizations: ['system:masters'], usage: 'client' });
  return TlsMaterial.fromPem({ ca: authority.certificatePem, cert: pair.certPem, key: pair.keyPem });
}

/** Trusts the authority of the rig's servers and shows the certificate of an administrator, unless told to show none. */
export function endpointOf(url: string, who: 'admin' | 'nobody' = 'admin'): Endpoint {
  const material = TlsMaterial.fromPem({
    ca: authority.certificatePem,
    ...(who === 'admin' && { cert: admin.certPem, key: admin.keyPem }),
  });
  return Endpoint.from({ url, material });
}

export type ClusterOptions = Partial<KubeApiserverOptions> & {
  readonly limits?: Partial<Limits>;
  readonly access?: Omit<ApiAccess, 'sender'>;
  readonly who?: 'admin' | 'nobody';
};

export class Cluster implements AsyncDisposable {
  readonly apiserver: KubeApiserver;
  readonly pool: TransportPool;
  readonly identity: Identity;
  readonly client: KubeClient;

  private constructor(apiserver: KubeApiserver, { limits, access, who }: ClusterOptions) {
    this.apiserver = apiserver;
    this.pool = new TransportPool({ limits });
    this.identity = this.pool.identity('cluster', endpointOf(apiserver.url, who));
    this.client = new KubeClient({ ...access, sender: this.identity });
  }

  static async open(options: ClusterOptions = {}): Promise<Cluster> {
    const { limits: _limits, access: _access, who: _who, ...server } = options;
    const tls = { ...serving, clientCaPem: authority.certificatePem };
    const apiserver = await KubeApiserver.listen({ name: 'rig', tls, controllers: false, ...server });
    return new Cluster(apiserver, options);
  }

  /** Written past the API: watches see it as any other change. */
  put(name: string, data: Readonly<Record<string, string>> = {}, namespace = 'default'): Stored {
    return this.apiserver.store.put(configMap(name, data, namespace));
  }

  /** Query parameters of the requests of this path, in order. */
  queries(path: string): readonly URLSearchParams[] {
    return this.apiserver.requests
      .filter((request) => request.path.split('?', 1)[0] === path)
      .map((request) => new URL(request.path, 'http://rig').searchParams);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.destroy();
    await this.apiserver.close();
  }
}

export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = {},
  namespace = 'default',
  labels: Readonly<Record<string, string>> = {},
): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly labels: typeof labels };
  readonly data: typeof data;
} {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels }, data };
}

export function names(objects: readonly KubeObject[]): readonly string[] {
  return objects.map((object) => object.metadata.name).toSorted();
}
