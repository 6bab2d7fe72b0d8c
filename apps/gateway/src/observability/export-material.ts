/** What the metrics tell of the certificates that clusters are reached with: what changed, what could not be used, and when they end. */

import type { Metrics } from '@roundhouse/process';
import type { MaterialPartStatus } from '@roundhouse/transport';
import type { Cluster } from '../clusters/cluster.ts';
import { maxClusterLabels } from './by-cluster.ts';

export interface MaterialSources {
  readonly clusters: () => Iterable<Cluster>;
}

export function exportMaterial(metrics: Metrics, { clusters }: MaterialSources): void {
  const parts = function* (): Generator<[{ cluster: string; part: string }, MaterialPartStatus]> {
    for (const { name, material } of [...clusters()].slice(0, maxClusterLabels)) {
      for (const part of ['ca', 'pair'] as const) {
        const status = material?.[part];
        if (status !== undefined) {
          yield [{ cluster: name, part }, status];
        }
      }
    }
  };
  metrics.gauge({
    name: 'roundhouse_gateway_material_good',
    help: "One when a cluster's CA, or the gateway's certificate and key for it, are in use as they were found last; zero when the last good ones are, or none.",
    labelNames: ['cluster', 'part'],
    collect() {
      this.reset();
      for (const [labels, { error }] of parts()) {
        this.set(labels, error === undefined ? 1 : 0);
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_gateway_material_generation',
    help: 'Counts the contents that were in use since the cluster was added; zero: none yet.',
    labelNames: ['cluster', 'part'],
    collect() {
      this.reset();
      for (const [labels, { generation }] of parts()) {
        this.set(labels, generation);
      }
    },
  });
  for (const [name, help, countOf] of [
    [
      'changes',
      'Changes of the CA, or of the certificate, to other content.',
      ({ generation }: MaterialPartStatus) => Math.max(0, generation - 1),
    ],
    [
      'bad',
      'Contents that could not be used, each counted once.',
      ({ badGenerations }: MaterialPartStatus) => badGenerations,
    ],
  ] as const) {
    metrics.counter({
      name: `roundhouse_gateway_material_${name}_total`,
      help,
      labelNames: ['cluster', 'part'],
      collect() {
        this.reset();
        for (const [labels, status] of parts()) {
          this.inc(labels, countOf(status));
        }
      },
    });
  }
  metrics.gauge({
    name: 'roundhouse_gateway_certificate_expiry_timestamp_seconds',
    help: "When a cluster's certificates end: the gateway's client certificate, or the CA that ends first.",
    labelNames: ['cluster', 'kind'],
    collect() {
      this.reset();
      for (const { name, certificateExpiresAt, caExpiresAt } of [...clusters()].slice(0, maxClusterLabels)) {
        for (const [kind, date] of [
          ['client', certificateExpiresAt],
          ['ca', caExpiresAt],
        ] as const) {
          if (date !== undefined) {
            this.set({ cluster: name, kind }, date.getTime() / 1000);
          }
        }
      }
    },
  });
}
