/** What the metrics tell of clusters that are down: how many are not dialed now, how often that began, and whom it cost an answer. */

import type { Metrics } from '@roundhouse/process';
import type { PoolSnapshot } from '@roundhouse/transport';

export function exportBreakers(metrics: Metrics, pool: () => PoolSnapshot): void {
  metrics.gauge({
    name: 'roundhouse_transport_breakers_open',
    help: 'Transports that are not dialed for a while, since limits.breakerThreshold dials failed in a row.',
    collect() {
      this.set(pool().transports.filter(({ breaker }) => breaker !== 'closed').length);
    },
  });
  for (const [total, name, help] of [
    ['breakersOpened', 'breakers_opened', 'How often that began.'],
    ['refusedWhileDown', 'refused_while_down', 'Requests and sessions that were refused at once meanwhile.'],
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
