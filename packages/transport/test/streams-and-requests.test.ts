/** Long-running streams have a budget and rules of their own: they starve nobody, and quiet is no fault. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { Exchange, HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool, directDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { maxConcurrentStreams, listenFrames } from './rig/frame-server.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

/** Watches are answered with a head and then nothing; everything else at once. */
async function serve(exchange: Exchange): Promise<void> {
  if (exchange.request.path === '/watch') {
    await exchange.writeHead(200);
    return;
  }
  await exchange.respond({ body: 'ok' });
}

const protocols = ['http/1.1', 'h2'] as const satisfies HttpProtocol[];

describe('N watches never starve a GET', () => {
  for (const protocol of protocols) {
    test(`${protocol}: 150 watches on a server of 100 streams a session, and each GET beside them is answered`, async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        maxConcurrentStreams: 100,
        handle: serve,
      });
      await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 2, maxStreamsPerHost: 150 } });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const watches = Array.from({ length: 150 }, () =>
        Call.start(lease, { path: '/watch', kind: 'stream' }),
      );
      await Promise.all(watches.map((watch) => watch.head));
      for (let index = 0; index < 10; index += 1) {
        assert.equal(await Call.text(lease), 'ok');
      }
      const bodies = await Promise.all(Array.from({ length: 20 }, () => Call.text(lease)));
      assert.equal(bodies.length, 20);
      const { connections } = pool.inspect().transports[0]!;
      assert.ok(watches.every((watch) => !watch.settled));
      assert.ok(connections.active + connections.idle <= (protocol === 'h2' ? 2 : 152));
      await pool.destroy();
    });

    test(`${protocol}: one stream more than may be open is refused with ERR_RH_STREAM_LIMIT, and short requests go on`, async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol], handle: serve });
      await using pool = new TransportPool({ limits: { maxStreamsPerHost: 3 } });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const watches = Array.from({ length: 3 }, () => Call.start(lease, { path: '/watch', kind: 'stream' }));
      await Promise.all(watches.map((watch) => watch.head));
      assert.equal(await Call.code(lease, { path: '/watch', kind: 'stream' }), 'ERR_RH_STREAM_LIMIT');
      assert.equal(await Call.text(lease), 'ok');
      watches[0]?.controller.abort(new Error('enough'));
      const next = Call.start(lease, { path: '/watch', kind: 'stream' });
      await next.head;
      await pool.destroy();
    });
  }

  test('http/1.1: both kinds together have no more connections than both bounds, although dials are slow', async () => {
    const slow = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    await using server = await RecordingServer.listen({
      handle: async (exchange) => {
        if (exchange.request.path === '/held') {
          await release.promise;
        }
        await serve(exchange);
      },
    });
    let dials = 0;
    const dialer = {
      id: 'second is slow',
      dial: async (...all: Parameters<typeof directDialer.dial>) => {
        dials += 1;
        if (dials === 2) {
          await slow.promise;
        }
        return directDialer.dial(...all);
      },
    };
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1, maxStreamsPerHost: 1 } });
    using lease = pool.lease(Endpoint.from({ url: server.url, dialer }));
    const held = Call.start(lease, { path: '/held' });
    await server.waitForRequests(1);
    const watch = Call.start(lease, { path: '/watch', kind: 'stream' });
    release.resolve();
    await held.ended;
    await Promise.all([Call.text(lease), Call.text(lease)]);
    assert.equal(dials, 2);
    slow.resolve();
    await watch.head;
    assert.equal(server.accepted, 2);
    await pool.destroy();
  });

  test('h2: streams that wait are placed when the server allows more', async () => {
    const heads: number[] = [];
    await using server = await listenFrames(
      (peer, stream) => {
        heads.push(stream);
        peer.head(stream);
        if (heads.length === 3) {
          peer.settings({ [maxConcurrentStreams]: 40 });
        }
      },
      { [maxConcurrentStreams]: 4 },
    );
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
    using lease = pool.lease(Endpoint.from({ url: server.url, alpn: 'h2' }));
    // So that the session is there, and its first SETTINGS are known.
    const first = Call.start(lease, { kind: 'stream' });
    await first.head;
    const calls = Array.from({ length: 9 }, () => Call.start(lease, { kind: 'stream' }));
    await Promise.all(calls.map((call) => call.head));
    assert.equal(heads.length, 10);
    await pool.destroy();
  });
});

describe('BB-54: quiet is no fault of a stream', () => {
  for (const protocol of protocols) {
    test(`${protocol}: a watch that is quiet for a day is still there for its next event, on the same connection`, async () => {
      const clock = new ManualClock();
      let watched: Exchange | undefined;
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: async (exchange) => {
          watched = exchange;
          await exchange.writeHead(200);
        },
      });
      await using pool = new TransportPool({ clock, limits: { pingAfterMs: 3_600_000 } });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const watch = Call.start(lease, { kind: 'stream' });
      await watch.head;
      for (let hour = 0; hour < 24; hour += 1) {
        clock.advance(3_600_000);
        // Over HTTP/2 the server is asked meanwhile whether it lives, and its answer is on its way.
        await turns(20);
      }
      await watched?.write('event');
      await until(() => watch.body === 'event', 'the event');
      assert.equal(server.accepted, 1);
      await pool.destroy();
    });
  }

  test('a stream that is to end after silence ends then, and each byte begins the silence anew', async () => {
    const clock = new ManualClock();
    let watched: Exchange | undefined;
    await using server = await RecordingServer.listen({
      handle: async (exchange) => {
        watched = exchange;
        await exchange.writeHead(200);
      },
    });
    await using pool = new TransportPool({ clock });
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const watch = Call.start(lease, { kind: 'stream', silenceTimeoutMs: 60_000 });
    await watch.head;
    clock.advance(59_000);
    await watched?.write('x');
    await until(() => watch.body === 'x', 'a byte');
    clock.advance(59_999);
    assert.ok(!watch.settled);
    clock.advance(1);
    assert.equal(watch.code, 'ERR_RH_STREAM_SILENT');
  });

  test('while its reader does not read, a stream is not silent', async () => {
    const clock = new ManualClock();
    await using server = await RecordingServer.listen({ handle: (exchange) => exchange.writeHead(200) });
    await using pool = new TransportPool({ clock });
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const watch = Call.start(lease, { kind: 'stream', silenceTimeoutMs: 60_000 });
    await watch.head;
    watch.controller.pause();
    clock.advance(600_000);
    assert.ok(!watch.settled);
    watch.controller.resume();
    clock.advance(60_000);
    assert.equal(watch.code, 'ERR_RH_STREAM_SILENT');
  });

  test('a stream ends at the bound of its life when it has one', async () => {
    const clock = new ManualClock();
    await using server = await RecordingServer.listen({ handle: (exchange) => exchange.writeHead(200) });
    await using pool = new TransportPool({ clock });
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const watch = Call.start(lease, { kind: 'stream', lifetimeMs: 300_000 });
    await watch.head;
    clock.advance(299_999);
    assert.ok(!watch.settled);
    clock.advance(1);
    assert.equal(watch.code, 'ERR_RH_STREAM_SILENT');
  });
});
