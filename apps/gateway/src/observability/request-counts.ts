/**
 * What is counted of each request. The numbers are plain ones and kept here, by cluster and verb; they become metrics when somebody
 * asks (`export-requests.ts`). A metrics library that makes a text of all labels for each thing that it counts is dear thousands of
 * times a second.
 */

import { Observations } from '@roundhouse/process';
import type { Exchange } from '../exchange.ts';
import { verbLabel } from './verb-label.ts';

/** Names beyond this are counted together: clusters that come and go must not grow the numbers for ever. */
export const maxClusterLabels = 4_096;

/** Of the durations of short requests, in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export class RequestCounts {
  #inFlight = 0;
  /** By label. Bounded by `maxClusterLabels`, and one for what has no cluster, and one for the others. */
  readonly #clusters = new Map<string, ClusterCounts>();

  get inFlight(): number {
    return this.#inFlight;
  }

  get clusters(): Iterable<ClusterCounts> {
    return this.#clusters.values();
  }

  started(): void {
    this.#inFlight += 1;
  }

  longRunning({ cluster, route }: Exchange, change: 1 | -1): void {
    const counts = this.#of(cluster?.name).of(verbLabel(route));
    counts.longRunning = (counts.longRunning ?? 0) + change;
  }

  ended({ cluster, route, error, bytesIn, reply }: Exchange, code: number, durationMs: number): void {
    this.#inFlight -= 1;
    const counts = this.#of(cluster?.name);
    const { codes, durations } = counts.of(verbLabel(route));
    increase(codes, code);
    if (route?.info.longRunning === false) {
      durations.observe(durationMs / 1000);
    }
    if (error !== undefined) {
      increase(counts.failures, error.code);
    }
    counts.receivedBytes += bytesIn;
    counts.sentBytes += reply.bytesOut;
  }

  #of(name = ''): ClusterCounts {
    const present = this.#clusters.get(name);
    if (present !== undefined) {
      return present;
    }
    const label = name === '' || this.#clusters.size < maxClusterLabels ? name : 'other';
    const counts = this.#clusters.get(label) ?? new ClusterCounts(label);
    this.#clusters.set(label, counts);
    return counts;
  }
}

export class ClusterCounts {
  readonly cluster: string;
  /** By label, of which there are few. */
  readonly verbs = new Map<string, VerbCounts>();
  /** By error code, of which there is a catalogue. */
  readonly failures = new Map<string, number>();
  receivedBytes = 0;
  sentBytes = 0;

  constructor(cluster: string) {
    this.cluster = cluster;
  }

  of(verb: string): VerbCounts {
    let counts = this.verbs.get(verb);
    if (counts === undefined) {
      counts = {
        verb,
        codes: new Map(),
        durations: new Observations({ cluster: this.cluster, verb }, bounds),
        longRunning: undefined,
      };
      this.verbs.set(verb, counts);
    }
    return counts;
  }
}

export interface VerbCounts {
  readonly verb: string;
  /** By status, which has three digits. */
  readonly codes: Map<number, number>;
  readonly durations: Observations<'cluster' | 'verb'>;
  /** Under way now; undefined while none ever was. */
  longRunning: number | undefined;
}

function increase<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
