/**
 * Loaded into a gateway before anything else: counting costs nothing from then on. Only to see what it costs otherwise; what is read
 * at /metrics is then wrong, and no option of the gateway does this.
 */

import { GatewayMetrics } from '../../apps/gateway/src/observability/gateway-metrics.ts';

const nothing = (): void => undefined;

Object.assign(GatewayMetrics.prototype, {
  requestStarted: nothing,
  requestEnded: nothing,
  longRunningStarted: nothing,
  longRunningEnded: nothing,
});
