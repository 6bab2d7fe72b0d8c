/** Writes through a gateway to a cluster that takes its connections away under them, as managed API servers do to spread their load. */

import assert from 'node:assert/strict';
import { Agent, request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { RecordedConnection } from '@roundhouse/simulators';
import { statusIn } from './clients.ts';
import { openRig } from './gateway-rig.ts';

export interface GoawayRun {
  readonly posts: number;
  /** One GOAWAY among so many of them, by turns before and after the stream is accepted. */
  readonly goawayEvery: number;
}

export interface GoawayOutcome {
  readonly succeeded: number;
  readonly refused: number;
  readonly goaways: number;
}

const clients = 8;
const chunk = Buffer.alloc(64 * 1024, 'x');
/** 1 KB in one piece, and 2 MB in pieces of which the gateway has no copy when the GOAWAY comes. */
const bodies = [[chunk.subarray(0, 1_000)], Array.from({ length: 32 }, () => chunk)];

/** @throws AssertionError unless each POST was executed once and is a 200, or was not executed and is a 503 with Retry-After */
export async function postUnderGoaways(
  t: TestContext,
  { posts, goawayEvery }: GoawayRun,
): Promise<GoawayOutcome> {
  const executed = new Map<string, number>();
  const lastAccepted = new WeakMap<RecordedConnection, number>();
  let arrived = 0;
  let goaways = 0;
  const rig = await openRig(t, {
    upstreamAlpn: 'h2',
    upstream: { protocols: ['h2'], keepBodyBytes: 0, keepRecords: 100 },
    handle: async (exchange) => {
      const { connection, streamId = 0, path } = exchange.request;
      if (streamId > (lastAccepted.get(connection) ?? Number.POSITIVE_INFINITY)) {
        return;
      }
      arrived += 1;
      // There is no number before the first stream's that GOAWAY could name.
      if (arrived >= goawayEvery && streamId > 1 && !lastAccepted.has(connection)) {
        arrived = 0;
        goaways += 1;
        const accepted = goaways % 2 === 0 ? streamId : streamId - 2;
        lastAccepted.set(connection, accepted);
        connection.goaway({ lastStreamId: accepted });
        if (accepted < streamId) {
          return;
        }
      }
      await exchange.readBody();
      executed.set(path, (executed.get(path) ?? 0) + 1);
      await exchange.respond({ status: 201, headers: { 'content-type': 'application/json' }, body: '{}' });
    },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  t.after(() => agent.destroy());
  let next = 0;
  let succeeded = 0;
  let refused = 0;
  const work = async (): Promise<void> => {
    while (next < posts) {
      const number = next;
      next += 1;
      const response = await post(
        agent,
        `${rig.gateway.url}/clusters/alpha/api/v1/configmaps?n=${number}`,
        bodies[number % 2]!,
      );
      const body = await text(response);
      const times = executed.get(`/api/v1/configmaps?n=${number}`) ?? 0;
      if (response.statusCode === 201) {
        assert.equal(times, 1, `POST ${number} succeeded`);
        succeeded += 1;
      } else {
        assert.deepEqual(
          [response.statusCode, times, statusIn(body).error],
          [503, 0, 'ERR_RH_REFUSED'],
          `POST ${number}: ${body}`,
        );
        assert.match(String(response.headers['retry-after']), /^[1-9]\d*$/);
        refused += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: clients }, work));
  // None was executed after its answer either.
  assert.deepEqual([...new Set(executed.values())], [1]);
  assert.equal(executed.size, succeeded);
  return { succeeded, refused, goaways };
}

/** Chunked. An answer may come before the body is through. */
async function post(agent: Agent, url: string, body: readonly Buffer[]): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = requestHttp(url, {
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  outgoing.on('response', resolve);
  outgoing.on('error', reject);
  for (const piece of body) {
    outgoing.write(piece);
  }
  outgoing.end();
  return promise;
}
