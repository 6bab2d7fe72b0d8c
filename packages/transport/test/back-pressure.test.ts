/** A reader that is slow slows the sender, both ways; what is kept in between is bounded. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const piece = Buffer.alloc(65_536, 'x');
const pieces = 512;

for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
  describe(`${protocol}: back-pressure`, () => {
    for (const pausedAt of ['start', 'head', 'data'] as const) {
      test(`a reader that pauses at ${pausedAt} stops the server, and gets every byte when it goes on`, async () => {
        let written = 0;
        await using server = await RecordingServer.listen({
          protocols: [protocol],
          handle: async (exchange) => {
            await exchange.writeHead(200);
            for (let count = 0; count < pieces; count += 1) {
              await exchange.write(piece);
              written += piece.length;
            }
            await exchange.end();
          },
        });
        await using pool = new TransportPool({ profile: 'proxy' });
        using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
        let paused = false;
        const call = Call.start(lease, {
          on: {
            [pausedAt]: ({ controller }: Call) => {
              if (!paused) {
                paused = true;
                controller.pause();
              }
            },
          },
        });
        await call.head;
        let before = -1;
        while (written !== before) {
          before = written;
          await turns(200);
        }
        // Both ends of the loopback have buffers of their own, of some megabytes in all.
        assert.ok(written < (pieces * piece.length) / 2, `${written} bytes were taken`);
        assert.ok(call.bytes <= 2 * piece.length, `${call.bytes} bytes were given`);
        call.controller.resume();
        await call.ended;
        assert.equal(call.bytes, pieces * piece.length);
      });
    }

    test('a server that does not read stops the source of the body, and gets every byte when it goes on', async () => {
      const release = Promise.withResolvers<void>();
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        holdBodies: true,
        keepBodyBytes: 0,
        handle: async (exchange) => {
          await release.promise;
          await exchange.readBody();
          await exchange.respond({ body: String(exchange.request.bodyBytes) });
        },
      });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      let given = 0;
      const body = new Readable({
        read() {
          given += piece.length;
          this.push(given <= pieces * piece.length ? piece : null);
        },
      });
      const call = Call.start(lease, { method: 'POST', body });
      await server.waitForRequests(1);
      let before = -1;
      while (given !== before) {
        before = given;
        await turns(200);
      }
      assert.ok(given < (pieces * piece.length) / 2, `${given} bytes were asked for`);
      release.resolve();
      await call.ended;
      assert.equal(call.body, String(pieces * piece.length));
    });

    test('pausing and going on at every chunk loses nothing and repeats nothing', async () => {
      const body = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.respond({ body }),
      });
      for (const profile of ['apiClient', 'proxy'] as const) {
        await using pool = new TransportPool({ profile });
        using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
        let count = 0;
        const call = Call.start(lease, {
          on: {
            data: ({ controller }) => {
              count += 1;
              controller.pause();
              if (count % 3 === 0) {
                controller.resume();
              } else {
                setImmediate(() => controller.resume());
              }
            },
          },
        });
        await call.ended;
        assert.deepEqual(Buffer.concat(call.chunks), body);
      }
    });

    test('one exchange may be let go on from within the callback of another', async () => {
      const body = Buffer.alloc(200_000, 'x');
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.respond({ body }),
      });
      await using pool = new TransportPool({ profile: 'proxy' });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const paused = Call.start(lease, { on: { head: ({ controller }) => controller.pause() } });
      await paused.head;
      await turns(20);
      const other = Call.start(lease, { on: { data: () => paused.controller.resume() } });
      await Promise.all([paused.ended, other.ended]);
      assert.deepEqual([paused.bytes, other.bytes], [body.length, body.length]);
    });

    test('a small body that nobody reads frees its connection, a large one holds no more than the bound', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: async (exchange) => {
          const size = Number(exchange.request.path.slice(1));
          await exchange.writeHead(200);
          for (let sent = 0; sent < size; sent += piece.length) {
            await exchange.write(piece);
          }
          await exchange.end();
        },
      });
      await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 2, readAheadBytes: 262_144 } });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const unread = { on: { head: ({ controller }: Call) => controller.pause() } };
      for (let count = 0; count < 5; count += 1) {
        const call = Call.start(lease, { path: '/131072', ...unread });
        await call.head;
        await until(() => pool.inspect().transports[0]?.requests === 0, 'the connection free');
      }
      assert.equal(server.accepted, 1);
      const large = Call.start(lease, { path: `/${pieces * piece.length}`, ...unread });
      await large.head;
      await turns(500);
      const { bytesIn } = pool.inspect().transports[0]!;
      assert.ok(bytesIn < (pieces * piece.length) / 2, `${bytesIn} bytes`);
      large.controller.resume();
      await large.ended;
      assert.equal(large.bytes, pieces * piece.length);
    });
  });
}
