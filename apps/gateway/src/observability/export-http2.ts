/** What the metrics tell of HTTP/2 towards clusters: which protocol goes with what, how full its connections are, and what failed. */

import type { Metrics } from '@roundhouse/process';
import type { PoolSnapshot } from '@roundhouse/transport';
import { requestKinds } from '@roundhouse/transport';
import type { Cluster } from '../clusters/cluster.ts';
import { maxClusterLabels } from './by-cluster.ts';

export interface Http2Sources {
  readonly clusters: () => Iterable<Cluster>;
  readonly pool: () => PoolSnapshot;
}

export function exportHttp2(metrics: Metrics, { clusters, pool }: Http2Sources): void {
  metrics.gauge({
    name: 'roundhouse_gateway_cluster_protocol',
    help: 'One for the protocol over which requests of a kind go to a cluster; none before its first connection.',
    labelNames: ['cluster', 'kind', 'protocol'],
    collect() {
      this.reset();
      for (const { name, protocols } of [...clusters()].slice(0, maxClusterLabels)) {
        for (const kind of requestKinds) {
          const protocol = protocols[kind];
          if (protocol !== undefined) {
            this.set({ cluster: name, kind, protocol }, 1);
          }
        }
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_transport_http2_connections',
    help: 'HTTP/2 connections to clusters that take requests; they are among all connections, too.',
    collect() {
      this.set(pool().transports.reduce((sum, { http2 }) => sum + http2.connections, 0));
    },
  });
  metrics.gauge({
    name: 'roundhouse_transport_http2_requests',
    help: 'Requests and streams on them; no connection carries more than limits.maxStreamsPerConnection.',
    collect() {
      this.set(pool().transports.reduce((sum, { http2 }) => sum + http2.requests, 0));
    },
  });
  for (const [total, name, help] of [
    [
      'http2Refusals',
      'http2_refusals',
      'Connections of clusters that agreed to HTTP/2 and did not speak it.',
    ],
    ['unansweredPings', 'unanswered_pings', 'HTTP/2 connections given up since a PING was not answered.'],
  ] as const) {
    metrics.counter({
      name: `roundhouse_transport_${name}_total`,
      help,
      collect() {
        this.reset();
        this.inc(pool().totals[total]);
      },
    });
  }
}
