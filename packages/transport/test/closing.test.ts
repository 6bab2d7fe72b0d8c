/** `close()` drains, `destroy()` cuts; both come to an end whatever the peer does, and leave nothing open. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer, Relay } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { listenFrames } from './rig/frame-server.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const mebibyte = Buffer.alloc(1_048_576, 'x');

for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
  describe(`${protocol}: BB-28: closing`, () => {
    test('lets 20 downloads end byte for byte, whatever is called in between, and leaves no connection', async () => {
      const release = Promise.withResolvers<void>();
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: async (exchange) => {
          await exchange.writeHead(200, { 'content-length': String(2 * mebibyte.length) });
          await exchange.write(mebibyte);
          await release.promise;
          await exchange.end(mebibyte);
        },
      });
      await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 20 } });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const calls = Array.from({ length: 20 }, () => Call.start(lease));
      await Promise.all(calls.map((call) => call.head));
      const closing = pool.close();
      const again = pool.close();
      assert.equal(await Call.code(lease), 'ERR_RH_POOL_CLOSED');
      release.resolve();
      await Promise.all([closing, again]);
      assert.deepEqual([...new Set(calls.map((call) => call.bytes))], [2 * mebibyte.length]);
      assert.deepEqual([...new Set(calls.map((call) => call.code))], [undefined]);
      await pool.destroy();
      await server.waitForOpen(0);
      assert.equal(pool.state, 'closed');
    });

    test('cuts a watch that never ends at the drain limit', async () => {
      const clock = new ManualClock();
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.writeHead(200),
      });
      await using pool = new TransportPool({ clock });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const watch = Call.start(lease, { kind: 'stream' });
      await watch.head;
      const closing = pool.close({ timeoutMs: 5_000 });
      clock.advance(4_999);
      assert.ok(!watch.settled);
      clock.advance(1);
      await closing;
      assert.equal(watch.code, 'ERR_RH_DRAINED');
      await server.waitForOpen(0);
      assert.equal(clock.pending, 0);
    });

    test('waits for what is waiting and dialing, and for nothing else', async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol] });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const calls = Array.from({ length: 10 }, () => Call.start(lease));
      await pool.close();
      assert.deepEqual([...new Set(calls.map((call) => call.body))], ['ok']);
      await server.waitForOpen(0);
    });

    test('ends at its limit also in front of a black hole', async () => {
      const clock = new ManualClock();
      await using server = await RecordingServer.listen({ protocols: [protocol], handle: () => undefined });
      await using relay = await Relay.listen({ target: server });
      await using pool = new TransportPool({ clock });
      using lease = pool.lease(Endpoint.from({ url: `http://127.0.0.1:${relay.port}`, alpn: protocol }));
      const call = Call.start(lease, { method: 'POST', body: Buffer.alloc(32 * 1_048_576), timeoutMs: 0 });
      await server.waitForRequests(1);
      relay.freeze();
      const closing = pool.close({ timeoutMs: 1_000 });
      clock.advance(1_000);
      await closing;
      assert.equal(call.code, 'ERR_RH_DRAINED');
    });

    test('destroy() cuts everything now and tells why', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.writeHead(200),
      });
      await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
      const identity = pool.identity('x', Endpoint.from({ url: server.url, alpn: protocol }));
      const calls = [1, 2, 3].map(() => Call.start(identity, { timeoutMs: 0 }));
      await calls[0]!.head;
      await pool.destroy(new Error('out of here'));
      for (const call of calls) {
        assert.equal(call.code, 'ERR_RH_POOL_CLOSED');
        assert.match(String(call.error?.cause), /out of here/);
      }
      await server.waitForOpen(0);
      assert.equal(await Call.code(identity), 'ERR_RH_POOL_CLOSED');
    });
  });
}

describe('closing', () => {
  test('does not wait for an HTTP/2 peer that never closes its own side', async () => {
    await using server = await listenFrames((peer, stream) => peer.head(stream).data(stream, 'ok', true));
    const clock = new ManualClock();
    await using pool = new TransportPool({ clock });
    using lease = pool.lease(Endpoint.from({ url: server.url, alpn: 'h2' }));
    assert.equal(await Call.text(lease), 'ok');
    await until(() => pool.inspect().totals.idleConnections === 1, 'idle');
    clock.advance(30_000);
    await until(() => server.open === 0, 'the idle session closed');
    await Call.text(lease);
    await pool.close();
  });

  test('in the middle of a callback is as good as anywhere', async () => {
    for (const event of ['start', 'head', 'data', 'end'] as const) {
      for (const protocol of ['http/1.1', 'h2'] as const) {
        await using server = await RecordingServer.listen({ protocols: [protocol] });
        await using pool = new TransportPool();
        const identity = pool.identity('x', Endpoint.from({ url: server.url, alpn: protocol }));
        let closing: Promise<void> | undefined;
        const call = Call.start(identity, {
          on: {
            [event]: () => {
              closing ??= pool.destroy();
            },
          },
        });
        await call.ended;
        await closing;
        assert.equal(call.code, event === 'end' ? undefined : 'ERR_RH_POOL_CLOSED', `${protocol} ${event}`);
        await server.waitForOpen(0);
      }
    }
  });
});

describe('BB-29: one connection with a short life', () => {
  for (const idleTimeoutMs of [0, 1, 5]) {
    test(`idle time of ${idleTimeoutMs} ms and one connection: each of 100 requests is answered`, async () => {
      await using server = await RecordingServer.listen();
      await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1, idleTimeoutMs } });
      using lease = pool.lease(Endpoint.from({ url: server.url }));
      for (let index = 0; index < 50; index += 1) {
        const bodies = await Promise.all([Call.text(lease), Call.text(lease)]);
        assert.deepEqual(bodies, ['ok', 'ok']);
        await turns(index % 7);
        if (index % 10 === 0) {
          await new Promise((resolve) => setTimeout(resolve, idleTimeoutMs + 1));
        }
      }
      assert.ok(server.open <= 2, `${server.open} open`);
    });
  }

  test('also while a watch holds a connection', async () => {
    await using server = await RecordingServer.listen({
      handle: async (exchange) => {
        await exchange.writeHead(200);
        if (exchange.request.path !== '/watch') await exchange.end('ok');
      },
    });
    await using pool = new TransportPool({
      limits: { maxConnectionsPerHost: 1, maxStreamsPerHost: 1, idleTimeoutMs: 1 },
    });
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const watch = Call.start(lease, { path: '/watch', kind: 'stream' });
    await watch.head;
    for (let index = 0; index < 20; index += 1) {
      assert.equal(await Call.text(lease), 'ok');
      await turns(index % 7);
    }
    await pool.destroy();
  });
});
