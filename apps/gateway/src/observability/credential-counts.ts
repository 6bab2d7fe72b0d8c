/** How often the credentials of clusters were obtained, and with what result. Plain numbers, as those of requests. */

import type { CredentialOutcome } from '@roundhouse/kubernetes';
import { ByCluster } from './by-cluster.ts';

type CredentialResult = CredentialOutcome['result'];

export interface ClusterCredentials {
  readonly cluster: string;
  readonly results: Map<CredentialResult, number>;
}

export class CredentialCounts {
  readonly #clusters = new ByCluster<ClusterCredentials>((cluster) => ({ cluster, results: new Map() }));

  get clusters(): Iterable<ClusterCredentials> {
    return this.#clusters;
  }

  count(cluster: string, result: CredentialResult): void {
    const { results } = this.#clusters.of(cluster);
    results.set(result, (results.get(result) ?? 0) + 1);
  }
}
