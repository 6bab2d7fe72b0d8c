/**
 * The metrics of one program, in a registry of its own: two gateways in one process do not count into each other, and
 * nothing is registered by an import.
 */

import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import type { CounterConfiguration, GaugeConfiguration, HistogramConfiguration } from 'prom-client';
import { CountedHistogram } from './counted-histogram.ts';
import type { Observations } from './counted-histogram.ts';

export type { Counter, Gauge } from 'prom-client';

type Configured<T> = Omit<T, 'registers'>;

export class Metrics {
  readonly #registry = new Registry();

  /** @param processMetrics also export prom-client's default metrics: CPU, memory, event loop, handles. */
  constructor({ processMetrics = false }: { readonly processMetrics?: boolean } = {}) {
    if (processMetrics) {
      collectDefaultMetrics({ register: this.#registry });
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  counter<Label extends string>(configuration: Configured<CounterConfiguration<Label>>): Counter<Label> {
    return new Counter({ ...configuration, registers: [this.#registry] });
  }

  gauge<Label extends string>(configuration: Configured<GaugeConfiguration<Label>>): Gauge<Label> {
    return new Gauge({ ...configuration, registers: [this.#registry] });
  }

  /** @param read all that was ever observed, one for each set of labels */
  histogram<Label extends string>(
    configuration: Omit<Configured<HistogramConfiguration<Label>>, 'buckets' | 'collect'>,
    read: () => Iterable<Observations<Label>>,
  ): void {
    // oxlint-disable-next-line no-new -- the registry has it from now on
    new CountedHistogram({ ...configuration, registers: [this.#registry] }, read);
  }

  /** Name, help and type of every metric, for docs/metrics.md. */
  describe(): { readonly name: string; readonly help: string; readonly type: string }[] {
    return this.#registry
      .getMetricsAsArray()
      .map(({ name, help, type }) => ({ name, help, type: String(type) }));
  }

  /** In Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
