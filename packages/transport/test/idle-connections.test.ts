/** What is idle is bounded in number and in time, and the most recently used is used again. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool, directDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

describe('idle connections', () => {
  for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
    test(`${protocol}: none is open after the idle time, whatever the server promises`, async () => {
      const clock = new ManualClock();
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.respond({ headers: { 'keep-alive': 'timeout=600' }, body: 'ok' }),
      });
      await using pool = new TransportPool({ clock, limits: { idleTimeoutMs: 30_000 } });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      await Call.text(lease);
      await until(() => pool.inspect().totals.idleConnections === 1, 'idle');
      clock.advance(29_999);
      assert.equal(await Call.text(lease), 'ok');
      await until(() => pool.inspect().totals.idleConnections === 1, 'idle again');
      // The idle time begins anew with each use.
      clock.advance(29_999);
      assert.equal(pool.inspect().totals.idleConnections, 1);
      assert.equal(server.accepted, 1);
      clock.advance(1);
      await server.waitForOpen(0);
      assert.equal(pool.inspect().totals.idleConnections, 0);
    });
  }

  for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
    test(`G7: ${protocol}: one outlives the request that it was opened for, whose signal means nothing to it any more`, async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol] });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const first = new AbortController();
      await Call.text(lease, { signal: first.signal });
      await until(() => pool.inspect().totals.idleConnections === 1, 'idle');
      const second = Call.start(lease);
      first.abort();
      await second.ended;
      assert.deepEqual([second.code, second.body, server.accepted], [undefined, 'ok', 1]);
    });
  }

  test('a shorter promise of the server is kept: its connection is closed before the server would', async () => {
    await using server = await RecordingServer.listen({
      handle: (exchange) => exchange.respond({ headers: { 'keep-alive': 'timeout=1' }, body: 'ok' }),
    });
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    await Call.text(lease);
    await server.waitForOpen(0);
    await Call.text(lease);
    assert.equal(server.accepted, 2);
  });

  test('the most recently used one is used again, so that the others grow old', async () => {
    const clock = new ManualClock();
    const release = Promise.withResolvers<void>();
    await using server = await RecordingServer.listen({
      handle: async (exchange) => {
        if (exchange.request.path === '/held') {
          await release.promise;
        }
        await exchange.respond({ body: 'ok' });
      },
    });
    await using pool = new TransportPool({ clock, limits: { maxConnectionsPerHost: 4, maxIdlePerHost: 4 } });
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const held = Array.from({ length: 4 }, () => Call.start(lease, { path: '/held' }));
    await server.waitForRequests(4);
    release.resolve();
    await Promise.all(held.map((call) => call.ended));
    for (let second = 0; second < 30; second += 1) {
      await Call.text(lease);
      clock.advance(1_000);
    }
    await server.waitForOpen(1);
    assert.equal(server.accepted, 4);
  });

  test('a connection that nothing was ever sent on survives in the idle list, and its end ends no process', async () => {
    const slow = Promise.withResolvers<void>();
    await using server = await RecordingServer.listen();
    let dials = 0;
    const dialer = {
      id: 'second is late',
      dial: async (...parameters: Parameters<typeof directDialer.dial>) => {
        dials += 1;
        if (dials === 2) {
          await slow.promise;
        }
        return directDialer.dial(...parameters);
      },
    };
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url, dialer }));
    await Promise.all([Call.text(lease), Call.text(lease)]);
    // Somebody has to be under way, or the dial would be dropped.
    const release = Promise.withResolvers<void>();
    server.handle = async (exchange) => {
      await release.promise;
      await exchange.respond({ body: 'ok' });
    };
    const busy = Call.start(lease);
    const alsoWaiting = Call.start(lease);
    await server.waitForRequests(3);
    alsoWaiting.controller.abort(new Error('enough'));
    slow.resolve();
    await until(() => pool.inspect().transports[0]?.connections.idle === 1, 'one idle');
    for (const connection of server.connections) {
      if (connection.requests.length === 0) {
        connection.reset();
      }
    }
    await until(() => pool.inspect().transports[0]?.connections.idle === 0, 'none idle');
    release.resolve();
    await busy.ended;
    assert.equal(busy.code, undefined);
  });

  test('an idle connection on which the server speaks out of turn is never used again', async () => {
    await using server = await RecordingServer.listen();
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    await Call.text(lease);
    await server.connections[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil');
    await server.waitForOpen(0);
    assert.equal(await Call.text(lease), 'ok');
    assert.equal(server.accepted, 2);
  });
});
