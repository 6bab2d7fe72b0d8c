/** The gateway's own credentials as metrics, read when somebody asks. */

import type { Metrics } from '@roundhouse/process';
import type { Cluster } from '../clusters/cluster.ts';
import { limited } from './by-cluster.ts';
import type { CredentialCounts } from './credential-counts.ts';

export interface CredentialMetricsSources {
  readonly clusters: () => Iterable<Pick<Cluster, 'name' | 'credential'>>;
  readonly credentials: CredentialCounts;
  /** Credential plugins that run now. */
  readonly pluginsRunning: () => number;
}

export function exportCredentials(
  metrics: Metrics,
  { clusters, credentials, pluginsRunning }: CredentialMetricsSources,
): void {
  metrics.counter({
    name: 'roundhouse_gateway_credential_refreshes_total',
    help: "Times that the gateway's own credential for a cluster was obtained: from its plugin, or another one from its kubeconfig; result: changed, unchanged, failed.",
    labelNames: ['cluster', 'result'],
    collect() {
      this.reset();
      for (const { cluster, results } of credentials.clusters) {
        for (const [result, count] of results) {
          this.inc({ cluster, result }, count);
        }
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_gateway_credential_good',
    help: 'One when the last run of the credential plugin of a cluster was good or there was none yet, zero when it failed.',
    labelNames: ['cluster'],
    collect() {
      this.reset();
      for (const { name, credential } of limited(clusters())) {
        if (credential.kind === 'exec') {
          this.set({ cluster: name }, credential.error === undefined ? 1 : 0);
        }
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_gateway_credential_expiry_timestamp_seconds',
    help: "When the token or the plugin's certificate ends by which a cluster is asked, where it says so.",
    labelNames: ['cluster'],
    collect() {
      this.reset();
      for (const { name, credential } of limited(clusters())) {
        if (credential.expiresAt !== undefined) {
          this.set({ cluster: name }, credential.expiresAt.getTime() / 1000);
        }
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_gateway_credential_plugins_running',
    help: 'Credential plugins that run now.',
    collect() {
      this.set(pluginsRunning());
    },
  });
}
