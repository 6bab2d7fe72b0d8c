/** What can be seen of a pool: right numbers, and never a secret. */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { CertificateAuthority, ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool, profiles } from '@roundhouse/transport';
import type { ConnectionEvent, TransportEvent } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

describe('inspect()', () => {
  for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
    test(`${protocol}: counts connections by state, requests, streams, those that wait, dials and bytes`, async () => {
      const clock = new ManualClock();
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        maxConcurrentStreams: 2,
        handle: async (exchange) => {
          await exchange.writeHead(200);
          if (exchange.request.path !== '/held') await exchange.end('0123456789');
        },
      });
      await using pool = new TransportPool({ clock, limits: { maxConnectionsPerHost: 1 } });
      const identity = pool.identity('alpha', Endpoint.from({ url: server.url, alpn: protocol }));
      assert.deepEqual(pool.inspect().transports, []);
      await Call.text(identity);
      await until(() => pool.inspect().totals.idleConnections === 1, 'idle');
      clock.advance(1_000);
      const stream = Call.start(identity, { path: '/held', kind: 'stream' });
      await stream.head;
      const held = Call.start(identity, { path: '/held' });
      await held.head;
      const waiting = Call.start(identity, { path: '/held' });
      const [seen] = pool.inspect().transports;
      assert.ok(seen);
      const h2 = protocol === 'h2';
      assert.deepEqual(seen.connections, { opening: 0, idle: 0, active: h2 ? 1 : 2, draining: 0 });
      assert.deepEqual(
        [seen.requests, seen.streams, seen.waiting, seen.requestsTotal, seen.dials, seen.dialFailures],
        [2, 1, 1, 4, h2 ? 1 : 2, 0],
      );
      assert.deepEqual(
        [seen.protocols, seen.identities, seen.leases],
        [{ unary: protocol, stream: protocol }, ['alpha'], 0],
      );
      assert.equal(Date.parse(seen.lastUsedAt) - Date.parse(seen.createdAt), 1_000);
      assert.ok(seen.bytesIn > 10 && seen.bytesOut > 10);
      for (const call of [stream, held, waiting]) {
        call.controller.abort(new Error('enough'));
      }
      await until(() => pool.inspect().transports[0]?.requests === 0, 'all given up');
      const bytes = pool.inspect().transports[0]!.bytesIn;
      await pool.close();
      assert.ok(bytes >= seen.bytesIn);
      assert.deepEqual(pool.inspect().transports, []);
      assert.equal(pool.inspect().state, 'closed');
    });
  }

  test('W17: gives its limits, and counts what was built, hit and evicted', async () => {
    await using server = await RecordingServer.listen();
    await using pool = new TransportPool({ profile: 'proxy', limits: { maxIdle: 7 } });
    const endpoint = Endpoint.from({ url: server.url });
    await Call.text(pool.identity('a', endpoint));
    await Call.text(pool.identity('b', endpoint));
    const { limits, totals } = pool.inspect();
    assert.deepEqual(limits, { ...profiles.proxy, maxIdle: 7 });
    assert.deepEqual(
      [totals.transports, totals.identities, totals.built, totals.hits, totals.evictions, totals.rotations],
      [1, 2, 1, 1, 0, 0],
    );
  });

  test('holds no secret: no key, no token, no header, no body', async () => {
    const authority = await CertificateAuthority.create();
    const client = await authority.issue({ commonName: 'client', usage: 'client' });
    const certificate = await authority.issue({
      commonName: 'api',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    await using server = await RecordingServer.listen({ tls: certificate });
    await using pool = new TransportPool();
    const material = TlsMaterial.fromPem({
      ca: authority.certificatePem,
      cert: client.certPem,
      key: client.keyPem,
    });
    const identity = pool.identity('alpha', Endpoint.from({ url: server.url, material }));
    await Call.text(identity, {
      method: 'POST',
      headers: ['authorization', 'Bearer s3cr3t-token'],
      body: 's3cr3t-body',
    });
    const keyLine = client.keyPem.split('\n')[1] ?? 'missing';
    const texts = [
      JSON.stringify(pool.inspect()),
      inspect(pool.inspect(), { depth: 20 }),
      inspect(pool, { depth: 20 }),
      inspect(identity, { depth: 20 }),
      JSON.stringify(identity.endpoint),
    ];
    for (const text of texts) {
      assert.ok(!text.includes('s3cr3t') && !text.includes(keyLine), text.slice(0, 200));
    }
    assert.match(texts[0]!, /certExpiresAt/);
  });
});

describe('the diagnostics channels', () => {
  test('tell of each transport and each connection, from its opening to its end', async () => {
    const events: string[] = [];
    const onConnection = (message: unknown): void => {
      const { event, protocol, requests } = message as ConnectionEvent;
      events.push(`connection ${event} ${protocol} ${requests}`);
    };
    const onTransport = (message: unknown): void => {
      events.push(`transport ${(message as TransportEvent).event}`);
    };
    subscribe('roundhouse:connection', onConnection);
    subscribe('roundhouse:transport', onTransport);
    await using server = await RecordingServer.listen();
    const pool = new TransportPool();
    const identity = pool.identity('alpha', Endpoint.from({ url: server.url }));
    await Call.text(identity);
    await Call.text(identity);
    await pool.close();
    unsubscribe('roundhouse:connection', onConnection);
    unsubscribe('roundhouse:transport', onTransport);
    assert.deepEqual(events, [
      'transport opened',
      'connection opened http/1.1 0',
      'transport draining',
      'connection closed http/1.1 2',
      'transport closed',
    ]);
  });
});
