/**
 * What the gateway counts. Labels are bounded: a cluster's name (those that were ever served, up to a limit), the verb, the
 * status; never a user, a path or an object.
 */

import type { PoolSnapshot } from '@roundhouse/transport';
import type { Counter, Gauge, Histogram, Metrics } from '@roundhouse/process';
import type { AuditNumbers } from './audit-log.ts';
import type { Cluster } from '../clusters/cluster.ts';
import type { Exchange } from '../exchange.ts';
import { verbLabel } from './verb-label.ts';

export interface GatewayMetricsSources {
  readonly clusters: () => Iterable<Cluster>;
  readonly pool: () => PoolSnapshot;
  /** By path; whether what is in it now is in use. */
  readonly sources: () => Iterable<{ readonly path: string; readonly error: Error | undefined }>;
  readonly frontConnections: () => number;
  /** Undefined without an audit log. */
  readonly audit: () => AuditNumbers | undefined;
}

/** Names beyond this are counted together: clusters that come and go must not grow the registry for ever. */
const maxClusterLabels = 4_096;

export class GatewayMetrics {
  readonly #requests: Counter<'cluster' | 'verb' | 'code'>;
  readonly #failures: Counter<'cluster' | 'error'>;
  readonly #duration: Histogram<'cluster' | 'verb'>;
  readonly #inFlight: Gauge;
  readonly #longRunning: Gauge<'cluster' | 'verb'>;
  readonly #received: Counter<'cluster'>;
  readonly #sent: Counter<'cluster'>;
  /** Bounded by `maxClusterLabels`. */
  readonly #labels = new Set<string>();

  constructor(metrics: Metrics, sources: GatewayMetricsSources) {
    this.#requests = metrics.counter({
      name: 'roundhouse_gateway_requests_total',
      help: 'Requests answered, by cluster, verb and status; code 499: the client went away.',
      labelNames: ['cluster', 'verb', 'code'],
    });
    this.#failures = metrics.counter({
      name: 'roundhouse_gateway_failures_total',
      help: 'Requests that failed in the gateway or on the way to the cluster, by error code.',
      labelNames: ['cluster', 'error'],
    });
    this.#duration = metrics.histogram({
      name: 'roundhouse_gateway_request_duration_seconds',
      help: 'Time from the head of a short request to the end of its answer.',
      labelNames: ['cluster', 'verb'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    });
    this.#inFlight = metrics.gauge({
      name: 'roundhouse_gateway_requests_in_flight',
      help: 'Requests under way, long-running ones included.',
    });
    this.#longRunning = metrics.gauge({
      name: 'roundhouse_gateway_long_running_requests',
      help: 'Watches, logs and other long-running requests under way.',
      labelNames: ['cluster', 'verb'],
    });
    this.#received = metrics.counter({
      name: 'roundhouse_gateway_received_bytes_total',
      help: 'Bytes of request bodies taken from clients.',
      labelNames: ['cluster'],
    });
    this.#sent = metrics.counter({
      name: 'roundhouse_gateway_sent_bytes_total',
      help: 'Bytes of answers given to clients.',
      labelNames: ['cluster'],
    });
    exportClusters(metrics, sources);
    exportPool(metrics, sources);
    exportAudit(metrics, sources);
  }

  requestStarted(): void {
    this.#inFlight.inc();
  }

  /** The request is known now. */
  longRunningStarted(exchange: Exchange): void {
    this.#longRunning.inc(this.#who(exchange));
  }

  longRunningEnded(exchange: Exchange): void {
    this.#longRunning.dec(this.#who(exchange));
  }

  requestEnded(exchange: Exchange, code: number, durationMs: number): void {
    const { cluster, verb } = this.#who(exchange);
    this.#inFlight.dec();
    this.#requests.inc({ cluster, verb, code: String(code) });
    if (exchange.error !== undefined) {
      this.#failures.inc({ cluster, error: exchange.error.code });
    }
    if (exchange.route?.info.longRunning === false) {
      this.#duration.observe({ cluster, verb }, durationMs / 1000);
    }
    if (exchange.bytesIn > 0) {
      this.#received.inc({ cluster }, exchange.bytesIn);
    }
    this.#sent.inc({ cluster }, exchange.reply.bytesOut);
  }

  #who({ cluster, route }: Exchange): { cluster: string; verb: string } {
    return { cluster: this.#clusterLabel(cluster), verb: verbLabel(route) };
  }

  #clusterLabel(cluster: Cluster | undefined): string {
    if (cluster === undefined) {
      return '';
    }
    if (!this.#labels.has(cluster.name)) {
      if (this.#labels.size >= maxClusterLabels) {
        return 'other';
      }
      this.#labels.add(cluster.name);
    }
    return cluster.name;
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
    name: 'roundhouse_gateway_certificate_expiry_timestamp_seconds',
    help: "When a cluster's certificates end: the gateway's client certificate, or the CA that ends first.",
    labelNames: ['cluster', 'kind'],
    collect() {
      this.reset();
      for (const { name, certificateExpiresAt, caExpiresAt } of limited(clusters())) {
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

function* limited(clusters: Iterable<Cluster>): Generator<Cluster> {
  let count = 0;
  for (const cluster of clusters) {
    count += 1;
    if (count > maxClusterLabels) {
      return;
    }
    yield cluster;
  }
}
