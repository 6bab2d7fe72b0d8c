/** The metrics that a gateway exports, for docs/metrics.md. */

import { Metrics } from '@roundhouse/process';
import { TransportPool } from '@roundhouse/transport';
import { CredentialCounts } from './credential-counts.ts';
import { GatewayMetrics } from './gateway-metrics.ts';
import { SessionCounts } from './session-counts.ts';

export interface MetricDescription {
  readonly name: string;
  readonly help: string;
  readonly type: string;
}

/** Without those that prom-client collects of every process. In the order of their names. */
export function describeGatewayMetrics(): readonly MetricDescription[] {
  const metrics = new Metrics();
  const pool = new TransportPool({ profile: 'proxy' });
  // oxlint-disable-next-line no-new -- it registers in `metrics` what it counts, and that is all that is wanted here
  new GatewayMetrics(metrics, {
    clusters: () => [],
    sources: () => [],
    pool: () => pool.inspect(),
    frontConnections: () => 0,
    sessions: new SessionCounts(),
    credentials: new CredentialCounts(),
    pluginsRunning: () => 0,
    audit: () => undefined,
  });
  return metrics.describe().toSorted((left, right) => (left.name < right.name ? -1 : 1));
}
