/** A closed loop of requests: so many in flight, for so long, each answer checked. */

import { createHistogram } from 'node:perf_hooks';
import { Http1Lane } from './http1-lane.ts';
import { Http2Lane, openSession } from './http2-lane.ts';
import type { Ask, Lane } from './lane.ts';

export interface RequestLoadOptions extends Ask {
  readonly protocol: 'http/1.1' | 'h2';
  readonly connections: number;
  /** At any time; over HTTP/1.1 the same as `connections`. */
  readonly inFlight: number;
}

export interface RequestLoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export class RequestLoad {
  readonly #lanes: readonly Lane[];

  private constructor(lanes: readonly Lane[]) {
    this.#lanes = lanes;
  }

  static async open(options: RequestLoadOptions): Promise<RequestLoad> {
    const { protocol, connections, inFlight } = options;
    const lanes: Lane[] = [];
    for (let opened = 0; opened < connections; opened += 1) {
      if (protocol === 'http/1.1') {
        lanes.push(await Http1Lane.open(options));
        continue;
      }
      const session = await openSession(options);
      for (let lane = 0; lane < inFlight / connections; lane += 1) {
        lanes.push(new Http2Lane(session, options));
      }
    }
    return new RequestLoad(lanes);
  }

  /** Ends with the last answer, so that every request that was asked is also counted. */
  async run(durationMs: number): Promise<RequestLoadResult> {
    const latencies = createHistogram({ figures: 3 });
    let requests = 0;
    const startedAt = performance.now();
    const until = startedAt + durationMs;
    const keepAsking = async (lane: Lane): Promise<void> => {
      for (let askedAt = performance.now(); askedAt < until;) {
        await lane.exchange();
        const answeredAt = performance.now();
        // In microseconds; the histogram counts from 1.
        latencies.record(Math.max(1, Math.round((answeredAt - askedAt) * 1000)));
        requests += 1;
        askedAt = answeredAt;
      }
    };
    await Promise.all(this.#lanes.map(keepAsking));
    return {
      requests,
      seconds: (performance.now() - startedAt) / 1000,
      p50Ms: latencies.percentile(50) / 1000,
      p99Ms: latencies.percentile(99) / 1000,
      maxMs: latencies.max / 1000,
    };
  }

  close(): void {
    for (const lane of this.#lanes) lane.close();
  }
}
