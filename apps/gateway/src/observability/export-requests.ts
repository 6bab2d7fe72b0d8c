/** The numbers of requests as metrics, read when somebody asks. */

import type { Metrics } from '@roundhouse/process';
import type { ClusterCounts, RequestCounts, VerbCounts } from './request-counts.ts';

export function exportRequests(metrics: Metrics, counts: RequestCounts): void {
  metrics.counter({
    name: 'roundhouse_gateway_requests_total',
    help: 'Requests answered, by cluster, verb and status; code 499: the client went away.',
    labelNames: ['cluster', 'verb', 'code'],
    collect() {
      this.reset();
      for (const { cluster, verb, codes } of verbsOf(counts)) {
        for (const [code, count] of codes) {
          this.inc({ cluster, verb, code: String(code) }, count);
        }
      }
    },
  });
  metrics.counter({
    name: 'roundhouse_gateway_failures_total',
    help: 'Requests that failed in the gateway or on the way to the cluster, by error code.',
    labelNames: ['cluster', 'error'],
    collect() {
      this.reset();
      for (const { cluster, failures } of counts.clusters) {
        for (const [error, count] of failures) {
          this.inc({ cluster, error }, count);
        }
      }
    },
  });
  metrics.histogram(
    {
      name: 'roundhouse_gateway_request_duration_seconds',
      help: 'Time from the head of a short request to the end of its answer.',
      labelNames: ['cluster', 'verb'],
    },
    () => Array.from(verbsOf(counts), ({ durations }) => durations),
  );
  metrics.gauge({
    name: 'roundhouse_gateway_requests_in_flight',
    help: 'Requests under way, long-running ones included.',
    collect() {
      this.set(counts.inFlight);
    },
  });
  metrics.gauge({
    name: 'roundhouse_gateway_long_running_requests',
    help: 'Watches, logs, sessions and other long-running requests under way.',
    labelNames: ['cluster', 'verb'],
    collect() {
      this.reset();
      for (const { cluster, verb, longRunning } of verbsOf(counts)) {
        if (longRunning !== undefined) {
          this.set({ cluster, verb }, longRunning);
        }
      }
    },
  });
  exportBytes(metrics, counts);
}

function exportBytes(metrics: Metrics, counts: RequestCounts): void {
  for (const [name, help, field] of [
    [
      'roundhouse_gateway_received_bytes_total',
      'Bytes taken from clients: request bodies, and what they send in sessions; counted as they come.',
      'receivedBytes',
    ],
    [
      'roundhouse_gateway_sent_bytes_total',
      'Bytes given to clients: answers, and what sessions bring; counted as they go.',
      'sentBytes',
    ],
  ] as const) {
    metrics.counter({
      name,
      help,
      labelNames: ['cluster'],
      collect() {
        this.reset();
        for (const ofCluster of counts.clusters) {
          this.inc({ cluster: ofCluster.cluster }, ofCluster[field]);
        }
      },
    });
  }
}

function* verbsOf(counts: RequestCounts): Generator<Pick<ClusterCounts, 'cluster'> & VerbCounts> {
  for (const { cluster, verbs } of counts.clusters) {
    for (const verb of verbs.values()) {
      yield { cluster, ...verb };
    }
  }
}
