/** What an answer is, over either protocol: trailers, interim answers, ends that are none, and what is left of its connection. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { RawServer, answering } from './rig/raw-server.ts';

endsWithNothingOpen();

for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
  describe(`${protocol}: an answer`, () => {
    test('comes with its trailers, and with repeated fields as they were sent', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) =>
          exchange.respond({
            headers: { 'set-cookie': ['a=1', 'b=2'] },
            body: 'ok',
            trailers: { 'x-checksum': 'abc' },
          }),
      });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const call = Call.start(lease);
      await call.ended;
      assert.equal(call.body, 'ok');
      assert.equal(call.trailers['x-checksum'], 'abc');
      const raw = (call.controller.rawHeaders as string[]).join('\n');
      assert.ok(raw.includes('set-cookie\na=1\nset-cookie\nb=2'), raw);
    });

    test('is the final one: interim answers are passed over', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: async (exchange) => {
          exchange.inform(103, { link: '</style.css>' });
          exchange.inform(102);
          await exchange.respond({ status: 201, body: 'made' });
        },
      });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const call = Call.start(lease);
      await call.ended;
      assert.deepEqual([call.status, call.body, call.headers['link']], [201, 'made', undefined]);
      assert.deepEqual(call.events, ['start', 'head', 'data', 'end']);
    });

    for (const status of [204, 304, 404, 500, 503]) {
      test(`of ${status} leaves its connection for the next request`, async () => {
        await using server = await RecordingServer.listen({
          protocols: [protocol],
          handle: (exchange) => exchange.respond({ status }),
        });
        await using pool = new TransportPool();
        using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
        for (let count = 0; count < 3; count += 1) {
          const call = Call.start(lease);
          await call.ended;
          assert.deepEqual([call.status, call.code], [status, undefined]);
        }
        assert.equal(server.accepted, 1);
      });
    }

    test('to a DELETE with a body leaves its connection for the next request', async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol] });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      for (const body of ['{}', Readable.from(['{}'], { objectMode: false }), '{}']) {
        assert.equal(await Call.text(lease, { method: 'DELETE', body }), 'ok');
      }
      assert.equal(server.accepted, 1);
    });

    test('to HEAD has no body', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: async (exchange) => {
          await exchange.writeHead(200, { 'content-length': '1000' });
          await exchange.end();
        },
      });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      assert.equal(await Call.text(lease, { method: 'HEAD' }), '');
      assert.equal(await Call.text(lease, { method: 'HEAD' }), '');
    });
  });
}

describe('over HTTP/1.1 an answer', () => {
  const cutShort: Readonly<Record<string, string>> = {
    'with a length': 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf',
    'with a length, and Connection: close':
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\nhalf',
    'in chunks': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    'in chunks, and Connection: close':
      'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
  };
  for (const [how, response] of Object.entries(cutShort)) {
    for (const cut of ['fin', 'rst'] as const) {
      test(`${how} that is cut short by ${cut} is no answer`, async () => {
        await using server = await RawServer.listen((socket) =>
          socket.once('data', () => {
            socket.write(response);
            setImmediate(() => (cut === 'fin' ? socket.end() : socket.resetAndDestroy()));
          }),
        );
        await using pool = new TransportPool();
        using lease = pool.lease(Endpoint.from({ url: server.url }));
        const call = Call.start(lease);
        await call.ended;
        assert.equal(call.events.at(-1), 'error');
        assert.match(call.code ?? '', /^ERR_RH_(?:CONNECTION_LOST|RESPONSE_INVALID)$/);
      });
    }
  }

  test('without a length ends with its connection, but not with a reset', async () => {
    for (const cut of ['fin', 'rst'] as const) {
      await using server = await RawServer.listen((socket) =>
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall there is');
          // In a packet of its own: a reset overtakes what was not read yet.
          setTimeout(() => (cut === 'fin' ? socket.end() : socket.resetAndDestroy()), 20);
        }),
      );
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url }));
      const call = Call.start(lease);
      await call.ended;
      assert.equal(call.body, 'all there is');
      assert.equal(call.code, cut === 'fin' ? undefined : 'ERR_RH_CONNECTION_LOST');
    }
  });

  test('that comes before the request is sent is the answer, and its connection is not used again', async () => {
    await using server = await RawServer.listen(
      answering('HTTP/1.1 413 Payload Too Large\r\ncontent-length: 9\r\n\r\ntoo large'),
    );
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const body = new Readable({ read: () => undefined });
    body.push('the first of many');
    const call = Call.start(lease, { method: 'POST', body });
    await call.ended;
    assert.deepEqual([call.status, call.body, call.code], [413, 'too large', undefined]);
    await Call.text(lease);
    assert.equal(server.sockets.length, 2);
  });

  test('with Connection: close costs its connection, and the next request goes over a new one', async () => {
    await using server = await RecordingServer.listen({
      handle: (exchange) => exchange.respond({ headers: { connection: 'close' }, body: 'ok' }),
    });
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const bodies = await Promise.all(Array.from({ length: 10 }, () => Call.text(lease)));
    assert.equal(bodies.length, 10);
    assert.equal(server.accepted, 10);
    await server.waitForOpen(0);
  });
});
