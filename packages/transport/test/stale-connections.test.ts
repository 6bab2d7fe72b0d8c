/** BB-25: the peer closes a kept-alive connection while a request is on its way to it. What may be replayed is, the rest is not. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { RawServer, okResponse } from './rig/raw-server.ts';
import { turns } from './rig/until.ts';

endsWithNothingOpen();

/** Executes the first request of each connection, and cuts the connection when a second one arrives on it. */
function cuttingSecond(how: 'fin' | 'rst'): Promise<RawServer> {
  return RawServer.listen((socket) => {
    let requests = 0;
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) {
        socket.write(okResponse);
      } else if (how === 'rst') {
        socket.resetAndDestroy();
      } else {
        socket.end();
      }
    });
  });
}

const leaseOf = (pool: TransportPool, url: string) => pool.lease(Endpoint.from({ url, alpn: 'http/1.1' }));

describe('BB-25: a kept-alive connection that the peer has closed', () => {
  for (const how of ['fin', 'rst'] as const) {
    test(`${how}: requests around the very moment: no GET fails, no POST is executed twice`, async () => {
      const executed = new Map<string, number>();
      await using server = await RecordingServer.listen({
        handle: async (exchange) => {
          const { method, path } = exchange.request;
          if (method === 'POST') {
            executed.set(path, (executed.get(path) ?? 0) + 1);
          }
          await exchange.respond({ body: 'ok' });
        },
      });
      await using pool = new TransportPool();
      using lease = leaseOf(pool, server.url);
      const codes = new Map<string, string | undefined>();
      for (let round = 0; round < 300; round += 1) {
        const method = round % 3 === 0 ? 'GET' : 'POST';
        const path = `/${method}/${round}`;
        // Before, in the middle of and after the turn in which the server closes.
        const close = (): void => server.closeIdle(how);
        await Call.text(lease);
        const shift = round % 4;
        if (shift === 0) close();
        if (shift === 1) setImmediate(close);
        const call = Call.start(lease, { method, path, ...(method === 'POST' && { body: 'x' }) });
        if (shift === 2) close();
        if (shift === 3) queueMicrotask(close);
        await call.ended;
        codes.set(path, call.code);
      }
      for (const [path, code] of codes) {
        if (path.startsWith('/GET')) {
          assert.equal(code, undefined, path);
        } else {
          assert.ok(code === undefined || code === 'ERR_RH_CONNECTION_STALE', `${path}: ${code}`);
          const times = executed.get(path) ?? 0;
          assert.ok(times <= 1, `${path} was executed ${times} times`);
          assert.ok(code !== undefined || times === 1, `${path} succeeded without being executed`);
        }
      }
    });

    test(`${how}: a POST that was sent fails with ERR_RH_CONNECTION_STALE and is not sent again`, async () => {
      await using server = await cuttingSecond(how);
      await using pool = new TransportPool();
      using lease = leaseOf(pool, server.url);
      await Call.text(lease);
      assert.equal(await Call.code(lease, { method: 'POST', body: 'x' }), 'ERR_RH_CONNECTION_STALE');
      assert.equal(server.sockets.length, 1);
    });

    test(`${how}: a GET is sent once more, on a new connection`, async () => {
      await using server = await cuttingSecond(how);
      await using pool = new TransportPool();
      using lease = leaseOf(pool, server.url);
      await Call.text(lease);
      assert.equal(await Call.text(lease), 'ok');
      assert.equal(server.sockets.length, 2);
    });

    test(`${how}: on a connection of its own a GET that fails is told, not sent again`, async () => {
      await using server = await RawServer.listen((socket) =>
        socket.once('data', () => (how === 'rst' ? socket.resetAndDestroy() : socket.end())),
      );
      await using pool = new TransportPool();
      using lease = leaseOf(pool, server.url);
      assert.equal(await Call.code(lease), 'ERR_RH_CONNECTION_LOST');
      assert.equal(server.sockets.length, 1);
    });

    test(`${how}: a POST whose connection was closed before anything was sent succeeds on a new one`, async () => {
      await using server = await RecordingServer.listen();
      await using pool = new TransportPool();
      using lease = leaseOf(pool, server.url);
      await Call.text(lease);
      await turns();
      server.closeIdle(how);
      // No turn between: nobody here has heard of it, but what is on the wire is looked at before the request is sent.
      const body = Readable.from(['a', 'b'], { objectMode: false });
      assert.equal(await Call.text(lease, { method: 'POST', body }), 'ok');
      assert.equal(server.accepted, 2);
      assert.equal(server.requests.at(-1)?.body.toString(), 'ab');
    });

    test(`${how}: so does one whose body has given nothing by then`, async () => {
      await using server = await RecordingServer.listen();
      await using pool = new TransportPool();
      using lease = leaseOf(pool, server.url);
      await Call.text(lease);
      const body = new Readable({ read: () => undefined });
      const call = Call.start(lease, { method: 'POST', body });
      await turns();
      server.closeIdle(how);
      await server.waitForAccepted(2);
      body.push('late');
      body.push(null);
      await call.ended;
      assert.equal(call.code, undefined);
      assert.equal(server.requests.at(-1)?.body.toString(), 'late');
    });
  }

  test('a server that closes every connection at once is asked three times and no more', async () => {
    await using server = await RawServer.listen((socket) => socket.destroy());
    await using pool = new TransportPool();
    using lease = leaseOf(pool, server.url);
    const code = await Call.code(lease, { method: 'POST', body: 'x' });
    assert.ok(code === 'ERR_RH_CONNECTION_LOST' || code === 'ERR_RH_DIAL_FAILED', code);
    assert.ok(server.sockets.length <= 3, `${server.sockets.length} connections`);
  });

  test('at the limit of connections a replay gets its new one although the others are idle', async () => {
    await using server = await cuttingSecond('rst');
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 3, maxIdlePerHost: 3 } });
    using lease = leaseOf(pool, server.url);
    await Promise.all([1, 2, 3].map(() => Call.text(lease)));
    const bodies = await Promise.all([1, 2, 3].map(() => Call.text(lease)));
    assert.deepEqual(bodies, ['ok', 'ok', 'ok']);
  });
});
