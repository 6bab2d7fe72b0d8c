/** BB-61 at any length: requests of every outcome that share one signal. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { Call } from './call.ts';

const concurrency = 50;

export async function sendWithOneSignal(requests: number): Promise<void> {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  await using server = await RecordingServer.listen({
    keepBodyBytes: 0,
    handle: async (exchange) => {
      // A server that remembers each of them would be the leak here.
      server.requests.length = 0;
      exchange.connection.requests.length = 0;
      if (exchange.request.path === '/reset') {
        exchange.reset();
      } else if (exchange.request.path !== '/silent') {
        await exchange.respond({ body: 'ok' });
      }
    },
  });
  await using pool = new TransportPool({
    limits: { maxConnectionsPerHost: 20, maxIdlePerHost: 20, maxIdle: 20 },
  });
  using lease = pool.lease(Endpoint.from({ url: server.url, alpn: 'http/1.1' }));
  const { signal } = new AbortController();
  const outcomes = { ended: 0, failed: 0 };
  let underWay = 0;
  let most = 0;
  const one = async (index: number): Promise<void> => {
    underWay += 1;
    const path = index % 100 === 1 ? '/reset' : index % 100 === 2 ? '/silent' : '/';
    const call = Call.start(lease, { signal, path, method: index % 3 === 0 ? 'POST' : 'GET', body: null });
    if (path === '/silent') {
      call.controller.abort(new Error('cancelled'));
    }
    most = Math.max(most, getEventListeners(signal, 'abort').length - underWay);
    await call.ended;
    underWay -= 1;
    outcomes[call.error === undefined ? 'ended' : 'failed'] += 1;
  };
  let next = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < requests) {
        next += 1;
        await one(next);
      }
    }),
  );
  process.off('warning', onWarning);
  assert.ok(most <= 0, `${most} listeners more than requests under way`);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  assert.equal(outcomes.ended + outcomes.failed, requests);
  assert.ok(outcomes.ended > requests * 0.9 && outcomes.failed > 0, JSON.stringify(outcomes));
  assert.deepEqual(warnings, []);
}
