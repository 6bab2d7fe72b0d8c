/** The numbers of upgraded sessions as metrics, read when somebody asks. */

import type { Metrics } from '@roundhouse/process';
import type { SessionCounts } from './session-counts.ts';

export function exportSessions(metrics: Metrics, counts: SessionCounts): void {
  metrics.gauge({
    name: 'roundhouse_gateway_sessions',
    help: 'Upgraded sessions that are open (exec, attach, port-forward, WebSockets), by the protocol that they speak.',
    labelNames: ['cluster', 'protocol'],
    collect() {
      this.reset();
      for (const { cluster, open } of counts.clusters) {
        for (const [protocol, count] of open) {
          this.set({ cluster, protocol }, count);
        }
      }
    },
  });
  metrics.counter({
    name: 'roundhouse_gateway_sessions_ended_total',
    help: 'Upgraded sessions that ended, by reason: ended (in good order), client, cluster, stalled, killed, drained, removed, shutdown, failed.',
    labelNames: ['cluster', 'reason'],
    collect() {
      this.reset();
      for (const { cluster, ended } of counts.clusters) {
        for (const [reason, count] of ended) {
          this.inc({ cluster, reason }, count);
        }
      }
    },
  });
}
