/**
 * A histogram whose numbers are kept by whoever counts, and only read when somebody asks. prom-client's own finds the series of each
 * observation by a text that it makes of all labels, which is dear for something that happens thousands of times a second.
 */

import { Histogram } from 'prom-client';
import type { HistogramConfiguration } from 'prom-client';

/** One set of labels, and what was observed with them. */
export class Observations<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly #bounds: readonly number[];
  /** By bucket; the last one is of values above all bounds. */
  readonly #counts: number[];
  #sum = 0;

  /** @param bounds upper ones, ascending */
  constructor(labels: Readonly<Record<Label, string>>, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (value > (this.#bounds[bucket] ?? Number.POSITIVE_INFINITY)) {
      bucket += 1;
    }
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** In prom-client's form; each bucket counts what those below it count, too. Nothing while nothing was observed. */
  *values(name: string): Generator<object> {
    const sharedLabels = this.labels;
    if (this.#counts.every((ofBucket) => ofBucket === 0)) {
      return;
    }
    let count = 0;
    for (const [index, ofBucket] of this.#counts.entries()) {
      count += ofBucket;
      const labels = { le: this.#bounds[index] ?? '+Inf' };
      yield { labels, sharedLabels, value: count, metricName: `${name}_bucket` };
    }
    yield { labels: {}, sharedLabels, value: this.#sum, metricName: `${name}_sum` };
    yield { labels: {}, sharedLabels, value: count, metricName: `${name}_count` };
  }
}

export class CountedHistogram<Label extends string> extends Histogram<Label> {
  readonly #about: { readonly name: string; readonly help: string };
  readonly #read: () => Iterable<Observations<Label>>;

  /** @param read all that was ever observed */
  constructor(configuration: HistogramConfiguration<Label>, read: () => Iterable<Observations<Label>>) {
    super(configuration);
    const { name, help } = configuration;
    this.#about = { name, help };
    this.#read = read;
  }

  /** What prom-client makes of a histogram, for its text and for the rest. */
  getForPromString(): Promise<object> {
    const { name } = this.#about;
    const values = Array.from(this.#read(), (observations) => [...observations.values(name)]).flat();
    return Promise.resolve({ ...this.#about, type: 'histogram', aggregator: 'sum', values });
  }
}
