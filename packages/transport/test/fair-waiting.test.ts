/** Who sends much waits behind their own: a party with one request does not wait for another's hundred. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import type { Lease, Limits } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';

endsWithNothingOpen();

/** One request works, until it is let go; all others wait. */
async function setUp(limits: Partial<Limits> = {}) {
  const release = Promise.withResolvers<void>();
  const server = await RecordingServer.listen({
    handle: async (exchange) => {
      await release.promise;
      await exchange.respond({ body: 'ok' });
    },
  });
  const pool = new TransportPool({ limits: { maxConnectionsPerHost: 1, ...limits } });
  const lease: Lease = pool.lease(Endpoint.from({ url: server.url }));
  const first = Call.start(lease, { path: '/first' });
  await server.waitForRequests(1);
  const wait = (fairnessKey: string | undefined, count: number): Call[] =>
    Array.from({ length: count }, (_, index) =>
      Call.start(lease, { path: `/${fairnessKey ?? 'nobody'}${index + 1}`, fairnessKey }),
    );
  return {
    wait,
    /** The paths in the order in which they came to the server. */
    async served(): Promise<string> {
      release.resolve();
      await first.ended;
      while ((pool.inspect().transports[0]?.requests ?? 0) > 0) {
        await new Promise(setImmediate);
      }
      return server.requests.map(({ path }) => path.slice(1)).join(' ');
    },
    async [Symbol.asyncDispose]() {
      release.resolve();
      lease[Symbol.dispose]();
      await pool.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

suite('W16: those who wait', () => {
  test('are served one of each party in turn, and in their order within a party', async () => {
    await using rig = await setUp();
    rig.wait('a', 5);
    rig.wait('b', 2);
    rig.wait('c', 1);
    rig.wait(undefined, 2);
    assert.equal(await rig.served(), 'first a1 b1 c1 nobody1 a2 b2 nobody2 a3 a4 a5');
  });

  test('come to their turn although others come in all the time', async () => {
    await using rig = await setUp({ maxWaitingPerHost: 200 });
    rig.wait('many', 100);
    const [one] = rig.wait('one', 1);
    rig.wait('many', 50);
    const order = (await rig.served()).split(' ');
    assert.equal(order.indexOf('one1'), 2);
    assert.equal(one?.body, 'ok');
  });

  test('that are as many as may be make room for a party that has fewer, one each time, until they are even', async () => {
    await using rig = await setUp({ maxWaitingPerHost: 10 });
    const much = rig.wait('much', 10);
    assert.deepEqual(rig.wait('much', 1)[0]?.code, 'ERR_RH_QUEUE_FULL');
    const little = rig.wait('little', 6);
    const refusedOf = (calls: readonly Call[]) =>
      calls.flatMap(({ code }, index) => (code === undefined ? [] : [`${index + 1} ${code}`]));
    assert.deepEqual(
      refusedOf(much),
      [6, 7, 8, 9, 10].map((place) => `${place} ERR_RH_QUEUE_FULL`),
    );
    assert.deepEqual(refusedOf(little), ['6 ERR_RH_QUEUE_FULL']);
    assert.equal(
      await rig.served(),
      'first much1 little1 much2 little2 much3 little3 much4 little4 much5 little5',
    );
  });

  test('and are given up are in nobody’s way', async () => {
    await using rig = await setUp();
    const [a1, a2] = rig.wait('a', 2);
    rig.wait('b', 1);
    a1?.controller.abort(new Error('gone'));
    a2?.controller.abort(new Error('gone'));
    rig.wait('a', 1);
    assert.equal(await rig.served(), 'first b1 a1');
  });
});
