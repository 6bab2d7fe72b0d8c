/**
 * What the gateway counts. Labels are bounded: a cluster's name (those that were ever served, up to a limit), the verb, the
 * status; never a user, a path or an object.
 */

import type { PoolSnapshot } from '@roundhouse/transport';
import type { Metrics } from '@roundhouse/process';
import type { AuditNumbers } from './audit-log.ts';
import type { Cluster } from '../clusters/cluster.ts';
import type { Exchange } from '../exchange.ts';
import { limited } from './by-cluster.ts';
import { exportBreakers } from './export-breakers.ts';
import { exportCredentials } from './export-credentials.ts';
import type { CredentialMetricsSources } from './export-credentials.ts';
import { exportHttp2 } from './export-http2.ts';
import { exportMaterial } from './export-material.ts';
import { exportRequests } from './export-requests.ts';
import { exportSessions } from './export-sessions.ts';
import { RequestCounts } from './request-counts.ts';
import type { SessionCounts } from './session-counts.ts';

export interface GatewayMetricsSources extends CredentialMetricsSources {
  readonly clusters: () => Iterable<Cluster>;
  readonly pool: () => PoolSnapshot;
  /** By path; whether what is in it now is in use. */
  readonly sources: () => Iterable<{ readonly path: string; readonly error: Error | undefined }>;
  readonly frontConnections: () => number;
  readonly sessions: SessionCounts;
  /** Undefined without an audit log. */
  readonly audit: () => AuditNumbers | undefined;
}

export class GatewayMetrics {
  readonly #requests = new RequestCounts();

  constructor(metrics: Metrics, sources: GatewayMetricsSources) {
    exportRequests(metrics, this.#requests);
    exportSessions(metrics, sources.sessions);
    exportClusters(metrics, sources);
    exportMaterial(metrics, sources);
    exportCredentials(metrics, sources);
    exportPool(metrics, sources);
    exportHttp2(metrics, sources);
    exportBreakers(metrics, sources.pool);
    exportAudit(metrics, sources);
  }

  requestStarted(): void {
    this.#requests.started();
  }

  /** The request is known now. */
  longRunningStarted(exchange: Exchange): void {
    this.#requests.longRunningStarted(exchange);
  }

  requestEnded(exchange: Exchange, code: number, durationMs: number): void {
    this.#requests.ended(exchange, code, durationMs);
  }
}

/** Read when somebody asks, so that what is gone is not exported. */
function exportClusters(metrics: Metrics, { clusters, sources }: GatewayMetricsSources): void {
  metrics.gauge({
    name: 'roundhouse_gateway_cluster_state',
    help: 'One for the state that a cluster is in.',
    labelNames: ['cluster', 'state'],
    collect() {
      this.reset();
      for (const cluster of limited(clusters())) {
        this.set({ cluster: cluster.name, state: cluster.state }, 1);
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_gateway_source_good',
    help: 'One when the present content of a followed file is in use (a kubeconfig, the token file, ...), zero when the last good one is.',
    labelNames: ['source'],
    collect() {
      this.reset();
      for (const { path, error } of sources()) {
        this.set({ source: path }, error === undefined ? 1 : 0);
      }
    },
  });
}

function exportPool(metrics: Metrics, { pool, frontConnections }: GatewayMetricsSources): void {
  metrics.gauge({
    name: 'roundhouse_gateway_front_connections',
    help: 'Connections of clients.',
    collect() {
      this.set(frontConnections());
    },
  });
  metrics.gauge({
    name: 'roundhouse_transport_connections',
    help: 'Connections to clusters, by state.',
    labelNames: ['state'],
    collect() {
      const counts = { opening: 0, idle: 0, active: 0, draining: 0 };
      for (const { connections } of pool().transports) {
        counts.opening += connections.opening;
        counts.idle += connections.idle;
        counts.active += connections.active;
        counts.draining += connections.draining;
      }
      for (const [state, count] of Object.entries(counts)) {
        this.set({ state }, count);
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_transport_requests',
    help: 'Requests to clusters under way, by kind; `waiting` ones are among the others.',
    labelNames: ['kind'],
    collect() {
      const counts = { unary: 0, stream: 0, waiting: 0 };
      for (const { requests, streams, waiting } of pool().transports) {
        counts.unary += requests;
        counts.stream += streams;
        counts.waiting += waiting;
      }
      for (const [kind, count] of Object.entries(counts)) {
        this.set({ kind }, count);
      }
    },
  });
  metrics.gauge({
    name: 'roundhouse_transport_transports',
    help: 'Transports, by whether they are in the map or still end what they carry.',
    labelNames: ['state'],
    collect() {
      const { transports, draining } = pool().totals;
      this.set({ state: 'open' }, transports);
      this.set({ state: 'draining' }, draining);
    },
  });
  for (const [name, help] of [
    ['built', 'Transports that were built.'],
    ['hits', 'Requests that found their transport.'],
    ['evictions', 'Transports that were closed to make room.'],
    ['rotations', 'Clusters that moved to another transport.'],
    ['refusedAtCapacity', 'Requests refused since all transports were in use.'],
  ] as const) {
    metrics.counter({
      name: `roundhouse_transport_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_total`,
      help,
      collect() {
        this.reset();
        this.inc(pool().totals[name]);
      },
    });
  }
}

function exportAudit(metrics: Metrics, { audit }: GatewayMetricsSources): void {
  metrics.counter({
    name: 'roundhouse_gateway_audit_lines_total',
    help: 'Lines of the audit log, by what became of them.',
    labelNames: ['outcome'],
    collect() {
      this.reset();
      const numbers = audit();
      if (numbers !== undefined) {
        this.inc({ outcome: 'written' }, numbers.written);
        this.inc({ outcome: 'dropped' }, numbers.dropped);
      }
    },
  });
  metrics.counter({
    name: 'roundhouse_gateway_audit_write_errors_total',
    help: 'Times that the audit log could not be written; what waits is tried again.',
    collect() {
      this.reset();
      this.inc(audit()?.writeErrors ?? 0);
    },
  });
  metrics.gauge({
    name: 'roundhouse_gateway_audit_buffered_bytes',
    help: 'Lines of the audit log that wait to be written.',
    collect() {
      this.set(audit()?.bufferedBytes ?? 0);
    },
  });
}
