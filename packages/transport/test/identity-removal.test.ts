/** When a party is removed, what it has open ends and nothing is dialed for it any more; others feel nothing. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, MaterialSource, TransportPool, directDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

describe('BB-08: a removed identity', () => {
  for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
    test(`${protocol}: ends its streams with a clear error and closes its connections at once`, async () => {
      const clock = new ManualClock();
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.writeHead(200),
      });
      await using pool = new TransportPool({ clock });
      for (let round = 0; round < 20; round += 1) {
        const clusters = Array.from({ length: 10 }, (_, index) =>
          pool.identity(
            `cluster ${index}`,
            Endpoint.from({ url: server.url, alpn: protocol, dialer: { ...directDialer, id: `${index}` } }),
          ),
        );
        const watches = clusters.flatMap((cluster) =>
          [1, 2, 3].map(() => Call.start(cluster, { kind: 'stream', silenceTimeoutMs: 60_000 })),
        );
        await Promise.all(watches.map((watch) => watch.head));
        await Promise.all(clusters.map((cluster) => cluster.close({ reason: new Error('deleted') })));
        assert.deepEqual([...new Set(watches.map((watch) => watch.code))], ['ERR_RH_IDENTITY_CLOSED']);
        assert.match(String(watches[0]?.error?.cause), /deleted/);
      }
      await server.waitForOpen(0, { timeoutMs: 2_000 });
      const { totals } = pool.inspect();
      assert.deepEqual([totals.transports, totals.identities, totals.draining], [0, 0, 0]);
      assert.equal(clock.pending, 0);
    });
  }

  test('is not dialed any more, not even where it was refused or is being dialed', async () => {
    let dials = 0;
    const signals: AbortSignal[] = [];
    const down = {
      id: 'down',
      dial: (_target: unknown, { signal }: { signal: AbortSignal }): Promise<never> => {
        dials += 1;
        signals.push(signal);
        return new Promise(() => undefined);
      },
    };
    const clock = new ManualClock();
    await using pool = new TransportPool({ clock });
    const identity = pool.identity('cluster', Endpoint.from({ url: 'http://cluster.test', dialer: down }));
    const calls = [1, 2, 3].map(() => Call.start(identity, { kind: 'stream' }));
    await turns();
    const before = dials;
    assert.ok(before > 0);
    await identity.close();
    await turns();
    assert.ok(signals.every((signal) => signal.aborted));
    assert.deepEqual([...new Set(calls.map((call) => call.code))], ['ERR_RH_IDENTITY_CLOSED']);
    clock.advance(60_000);
    await turns();
    assert.equal(dials, before);
    assert.equal(clock.pending, 0);
    assert.equal(await Call.code(identity), 'ERR_RH_IDENTITY_CLOSED');
    assert.equal(dials, before);
    await until(() => pool.inspect().transports.length === 0, 'no transport left');
  });

  test('follows no material any more, though what came before it is found only now', async () => {
    const clock = new ManualClock();
    let asked = 0;
    const material = MaterialSource.fromCallback(
      async () => {
        asked += 1;
        throw new Error('the vault is sealed');
      },
      { clock },
    );
    await using pool = new TransportPool({ clock });
    const slow = Promise.withResolvers<Endpoint>();
    const identity = pool.identity('cluster', () => slow.promise);
    const call = Call.start(identity);
    identity.rotate({ url: 'https://cluster.test', material });
    await identity.close();
    slow.resolve(Endpoint.from({ url: 'http://former.test' }));
    await turns();
    assert.equal(call.code, 'ERR_RH_IDENTITY_CLOSED');
    assert.deepEqual([asked, clock.pending], [0, 0]);
  });

  test('is not rotated by what is found only after it', async () => {
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', Endpoint.from({ url: 'http://former.test' }));
    const slow = Promise.withResolvers<Endpoint>();
    identity.rotate(() => slow.promise);
    await identity.close();
    slow.resolve(Endpoint.from({ url: 'http://next.test' }));
    await turns();
    assert.deepEqual([identity.generation, pool.inspect().totals.rotations], [1, 0]);
  });

  test('touches no other on the same transport', async () => {
    await using server = await RecordingServer.listen({ handle: (exchange) => exchange.writeHead(200) });
    await using pool = new TransportPool();
    const endpoint = Endpoint.from({ url: server.url });
    const [leaving, staying] = ['leaving', 'staying'].map((name) => pool.identity(name, endpoint));
    const watches = [leaving, staying].map((identity) => Call.start(identity!, { kind: 'stream' }));
    await Promise.all(watches.map((watch) => watch.head));
    assert.deepEqual(pool.inspect().transports[0]?.identities, ['leaving', 'staying']);
    await leaving?.close();
    await server.waitForOpen(1);
    assert.deepEqual(
      watches.map((watch) => watch.code),
      ['ERR_RH_IDENTITY_CLOSED', undefined],
    );
    assert.deepEqual(pool.inspect().transports[0]?.identities, ['staying']);
    await pool.destroy();
  });

  test('given time, lets what is under way end, takes nothing new, and cuts the rest at the limit', async () => {
    const clock = new ManualClock();
    const release = Promise.withResolvers<void>();
    await using server = await RecordingServer.listen({
      handle: async (exchange) => {
        await exchange.writeHead(200);
        if (exchange.request.path === '/ends') {
          await release.promise;
          await exchange.end('ok');
        }
      },
    });
    await using pool = new TransportPool({ clock });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
    const ends = Call.start(identity, { path: '/ends' });
    const watch = Call.start(identity, { kind: 'stream' });
    await Promise.all([ends.head, watch.head]);
    const closing = identity.close({ timeoutMs: 5_000 });
    assert.equal(await Call.code(identity), 'ERR_RH_IDENTITY_CLOSED');
    release.resolve();
    await ends.ended;
    assert.equal(ends.body, 'ok');
    clock.advance(5_000);
    await closing;
    assert.equal(watch.code, 'ERR_RH_IDENTITY_CLOSED');
    await identity.close();
    await identity.destroy();
  });

  test('given time, still sends what waits for its endpoint', async () => {
    await using server = await RecordingServer.listen({
      handle: (exchange) => exchange.respond({ body: 'ok' }),
    });
    await using pool = new TransportPool();
    const slow = Promise.withResolvers<Endpoint>();
    const identity = pool.identity('cluster', () => slow.promise);
    const call = Call.start(identity);
    const closing = identity.close({ timeoutMs: 5_000 });
    slow.resolve(Endpoint.from({ url: server.url }));
    await closing;
    assert.equal(call.body, 'ok');
  });
});
