/** How many transports a pool holds, and which one gives way: never one that is in use. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool, directDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

/** Endpoints of one server that differ in their dialer's id only, which is the cheapest difference. */
function endpointsOf(url: string, count: number): Endpoint[] {
  return Array.from({ length: count }, (_, index) =>
    Endpoint.from({ url, dialer: { ...directDialer, id: `direct ${index}` } }),
  );
}

describe('BB-02: a pool that visits thousands of endpoints', () => {
  test('G18: holds at most its bound at all times, and after the idle time no connection', async () => {
    const bound = 64;
    const clock = new ManualClock();
    await using server = await RecordingServer.listen();
    await using pool = new TransportPool({
      clock,
      limits: { maxIdleTransports: bound, maxTransports: 256, maxIdle: 100 },
    });
    const visit = async (): Promise<void> => {
      let most = 0;
      for (const endpoint of endpointsOf(server.url, 2_000)) {
        const identity = pool.identity('cluster', endpoint);
        await Call.text(identity);
        const { totals, transports } = pool.inspect();
        most = Math.max(most, transports.length, totals.idleConnections);
      }
      // One more for the one that is just being built, one for the one that has just been pushed out.
      assert.ok(most <= bound + 2, `${most} transports`);
    };
    await visit();
    await server.waitUntil(() => server.open <= bound, 'no more than one connection a transport');
    const { totals } = pool.inspect();
    assert.equal(totals.built, 2_000);
    assert.equal(totals.evictions, 2_000 - bound);
    clock.advance(30_000);
    await server.waitForOpen(0);
    // The sweep of the idle connections is over: nothing is timed any more.
    assert.equal(clock.pending, 0);
  });
});

describe('BB-10: eviction', () => {
  test('G18: never takes what is in use: a watch and a lease outlive 50 other endpoints in a map of 8', async () => {
    let watched: { write(chunk: string): Promise<void> } | undefined;
    await using server = await RecordingServer.listen({
      handle: async (exchange) => {
        if (exchange.request.path === '/watch') {
          watched = exchange;
          await exchange.writeHead(200);
        } else {
          await exchange.respond({ body: 'ok' });
        }
      },
    });
    await using pool = new TransportPool({ limits: { maxIdleTransports: 8, maxTransports: 16 } });
    const [first, second, ...others] = endpointsOf(server.url, 52);
    const identity = pool.identity('first', first!);
    const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
    await watch.head;
    using lease = pool.lease(second!);
    for (let round = 0; round < 3; round += 1) {
      for (const endpoint of others) {
        await Call.text(pool.identity('other', endpoint));
        assert.ok(pool.inspect().totals.transports <= 10);
      }
      assert.equal(await Call.text(identity), 'ok');
      assert.equal(await Call.text(lease), 'ok');
    }
    await watched?.write('still here');
    await until(() => watch.body === 'still here', 'the event');
    const { transports, totals } = pool.inspect();
    assert.deepEqual(
      transports.filter((transport) => transport.identities.includes('first')).map(({ dials }) => dials),
      [2],
    );
    assert.equal(totals.evictions, 3 * others.length - 8);
    assert.ok(totals.hits > 0);
    await pool.destroy();
  });

  test('at the hard cap, with all in use, a new endpoint is refused with ERR_RH_AT_CAPACITY, and taken once one is free', async () => {
    await using server = await RecordingServer.listen();
    await using pool = new TransportPool({ limits: { maxIdleTransports: 2, maxTransports: 3 } });
    const endpoints = endpointsOf(server.url, 5);
    const leases = endpoints.slice(0, 3).map((endpoint) => pool.lease(endpoint));
    assert.throws(() => pool.lease(endpoints[3]!), { code: 'ERR_RH_AT_CAPACITY' });
    assert.equal(await Call.code(pool.identity('fourth', endpoints[3]!)), 'ERR_RH_AT_CAPACITY');
    assert.equal(pool.inspect().totals.refusedAtCapacity, 2);
    assert.equal(pool.inspect().totals.transports, 3);
    leases[0]?.[Symbol.dispose]();
    assert.equal(await Call.text(pool.identity('fifth', endpoints[4]!)), 'ok');
    assert.equal(pool.inspect().totals.transports, 3);
    for (const lease of leases) {
      // A second release is none.
      lease[Symbol.dispose]();
    }
  });

  test('G18: takes the least recently used', async () => {
    await using server = await RecordingServer.listen();
    await using pool = new TransportPool({ limits: { maxIdleTransports: 2, maxTransports: 8 } });
    const [a, b, c] = endpointsOf(server.url, 3);
    for (const endpoint of [a, b, a, c]) {
      await Call.text(pool.identity('any', endpoint!));
    }
    await turns();
    assert.deepEqual(
      pool
        .inspect()
        .transports.map(({ dialer }) => dialer)
        .toSorted(),
      [a!.dialer.id, c!.dialer.id],
    );
  });
});
