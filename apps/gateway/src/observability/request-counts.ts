/**
 * What is counted of each request. The numbers are plain ones and kept here, by cluster and verb; they become metrics when somebody
 * asks (`export-requests.ts`). A metrics library that makes a text of all labels for each thing that it counts is dear thousands of
 * times a second.
 */

import { Observations } from '@roundhouse/process';
import type { Exchange } from '../exchange.ts';
import { ByCluster } from './by-cluster.ts';
import { verbLabel } from './verb-label.ts';

/** Of the durations of short requests, in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export class RequestCounts {
  #inFlight = 0;
  readonly #clusters = new ByCluster((cluster) => new ClusterCounts(cluster));
  /**
   * Long-running requests under way, with what of their bytes is counted already: a session may last for days. Leave as they
   * end; bounded as streams and sessions are.
   */
  readonly #longRunning = new Map<Exchange, Bytes>();

  get inFlight(): number {
    return this.#inFlight;
  }

  /** With the bytes of what is under way, as far as they have passed. */
  get clusters(): Iterable<ClusterCounts> {
    for (const [exchange, counted] of this.#longRunning) {
      countBytes(exchange, this.#clusters.of(exchange.cluster?.name), counted);
    }
    return this.#clusters;
  }

  started(): void {
    this.#inFlight += 1;
  }

  /** The request is known now, and lasts until somebody wants its end. */
  longRunningStarted(exchange: Exchange): void {
    const { cluster, route } = exchange;
    const counts = this.#clusters.of(cluster?.name).of(verbLabel(route));
    counts.longRunning = (counts.longRunning ?? 0) + 1;
    this.#longRunning.set(exchange, { receivedBytes: 0, sentBytes: 0 });
  }

  ended(exchange: Exchange, code: number, durationMs: number): void {
    const { cluster, route, error } = exchange;
    this.#inFlight -= 1;
    const counts = this.#clusters.of(cluster?.name);
    const ofVerb = counts.of(verbLabel(route));
    increase(ofVerb.codes, code);
    const counted = this.#longRunning.get(exchange);
    if (counted !== undefined) {
      this.#longRunning.delete(exchange);
      ofVerb.longRunning = (ofVerb.longRunning ?? 0) - 1;
    } else if (route?.info.longRunning === false) {
      ofVerb.durations.observe(durationMs / 1000);
    }
    if (error !== undefined) {
      increase(counts.failures, error.code);
    }
    countBytes(exchange, counts, counted);
  }
}

interface Bytes {
  receivedBytes: number;
  sentBytes: number;
}

/** Adds what has passed since it was counted last; all of it where it never was. */
function countBytes(
  { bytesIn, reply: { bytesOut } }: Exchange,
  counts: Bytes,
  counted: Bytes | undefined,
): void {
  counts.receivedBytes += bytesIn - (counted?.receivedBytes ?? 0);
  counts.sentBytes += bytesOut - (counted?.sentBytes ?? 0);
  if (counted !== undefined) {
    counted.receivedBytes = bytesIn;
    counted.sentBytes = bytesOut;
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
