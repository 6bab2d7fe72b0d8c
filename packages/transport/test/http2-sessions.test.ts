/** What may happen to an HTTP/2 session and its streams, and what then becomes of the requests on it. */

import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import type { Exchange } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { listenFrames, maxConcurrentStreams } from './rig/frame-server.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { ResetSessions } from './rig/reset-sessions.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;
const leaseOf = (pool: TransportPool, url: string) => pool.lease(Endpoint.from({ url, alpn: 'h2' }));

describe('GOAWAY', () => {
  test('lets what is under way end, and the next request goes over a new session', async () => {
    const held: Exchange[] = [];
    await using server = await RecordingServer.listen({
      protocols: ['h2'],
      handle: async (exchange) => {
        if (exchange.request.path === '/held') {
          held.push(exchange);
          await exchange.writeHead(200);
        } else {
          await exchange.respond({ body: 'ok' });
        }
      },
    });
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
    using lease = leaseOf(pool, server.url);
    const call = Call.start(lease, { path: '/held' });
    await call.head;
    server.goaway();
    await until(() => pool.inspect().transports[0]?.connections.draining === 1, 'the session drains');
    // One session is all that is allowed: one that drains does not count.
    assert.equal(await Call.text(lease), 'ok');
    assert.equal(server.accepted, 2);
    await held[0]?.end('whole');
    await call.ended;
    assert.equal(call.body, 'whole');
    await server.waitForOpen(1);
  });

  for (const [method, code] of [
    ['GET', NGHTTP2_NO_ERROR],
    ['POST', NGHTTP2_NO_ERROR],
    ['POST', NGHTTP2_ENHANCE_YOUR_CALM],
  ] as const) {
    test(`a ${method} that it says was not looked at is sent again, also with a body (error code ${code})`, async () => {
      await using server = await listenFrames((peer, stream, connection) => {
        if (connection === 0) {
          peer.goaway(0, code);
        } else {
          peer.head(stream).data(stream, 'ok', true);
        }
      });
      await using pool = new TransportPool();
      using lease = leaseOf(pool, server.url);
      assert.equal(await Call.text(lease, { method, body: method === 'POST' ? 'x' : null }), 'ok');
      assert.equal(server.sockets.length, 2);
    });
  }
});

describe('RST_STREAM', () => {
  test('REFUSED_STREAM: nothing was executed, so even a POST is sent again', async () => {
    let refusals = 0;
    await using server = await RecordingServer.listen({
      protocols: ['h2'],
      handle: async (exchange) => {
        if (refusals < 2) {
          refusals += 1;
          exchange.reset(NGHTTP2_REFUSED_STREAM);
        } else {
          await exchange.respond({ body: 'ok' });
        }
      },
    });
    await using pool = new TransportPool();
    using lease = leaseOf(pool, server.url);
    assert.equal(await Call.text(lease, { method: 'POST', body: 'x' }), 'ok');
    assert.equal(server.requests.length, 3);
  });

  test('REFUSED_STREAM for ever: three attempts, then ERR_RH_REFUSED', async () => {
    await using server = await listenFrames((peer, stream) => peer.reset(stream, NGHTTP2_REFUSED_STREAM));
    await using pool = new TransportPool();
    using lease = leaseOf(pool, server.url);
    assert.equal(await Call.code(lease, { method: 'POST', body: 'x' }), 'ERR_RH_REFUSED');
  });

  for (const [name, code] of Object.entries({ NGHTTP2_CANCEL, NGHTTP2_NO_ERROR })) {
    for (const at of ['in its own packet', 'together with the last data'] as const) {
      test(`${name} in the middle of a body, ${at}, is no end of it`, async () => {
        await using server = await listenFrames((peer, stream) => {
          peer.head(stream).data(stream, 'half');
          if (at === 'in its own packet') {
            setImmediate(() => peer.reset(stream, code));
          } else {
            peer.reset(stream, code);
          }
        });
        await using pool = new TransportPool();
        using lease = leaseOf(pool, server.url);
        const call = Call.start(lease);
        await call.ended;
        assert.equal(call.code, 'ERR_RH_CONNECTION_LOST');
        assert.deepEqual(call.events.at(-1), 'error');
      });
    }
  }

  test('before the head, a GET on a session of its own is told, and nobody loops', async () => {
    let requests = 0;
    await using server = await listenFrames((peer, stream) => {
      requests += 1;
      peer.reset(stream, NGHTTP2_CANCEL);
    });
    await using pool = new TransportPool();
    using lease = leaseOf(pool, server.url);
    assert.equal(await Call.code(lease), 'ERR_RH_CONNECTION_LOST');
    assert.equal(requests, 1);
  });
});

describe('an answer that comes before the request is sent', () => {
  const bodies = {
    'a stream that has given nothing': () => new Readable({ read: () => undefined }),
    'a stream that goes on for ever': () =>
      new Readable({
        read() {
          setImmediate(() => this.push(Buffer.alloc(16_384)));
        },
      }),
    'more bytes than the peer takes': () => Buffer.alloc(4 * 1_048_576),
  };
  for (const [what, bodyOf] of Object.entries(bodies)) {
    for (const withReset of [true, false]) {
      test(`is the answer, whole: ${what}${withReset ? ', and RST_STREAM(NO_ERROR) behind it' : ''}`, async () => {
        await using server = await listenFrames((peer, stream) => {
          peer.head(stream).data(stream, 'too large', true);
          if (withReset) {
            peer.reset(stream, NGHTTP2_NO_ERROR);
          }
        });
        await using pool = new TransportPool();
        using lease = leaseOf(pool, server.url);
        const body = bodyOf();
        assert.equal(await Call.text(lease, { method: 'POST', body }), 'too large');
        await until(() => pool.inspect().transports[0]?.connections.idle === 1, 'the session is free again');
        if (body instanceof Readable) {
          body.destroy();
        }
      });
    }
  }
});

describe('a session', () => {
  test('learns how many streams the peer takes, and never has more open', async () => {
    let open = 0;
    let most = 0;
    await using server = await listenFrames(
      (peer, stream) => {
        open += 1;
        most = Math.max(most, open);
        setImmediate(() => {
          open -= 1;
          peer.head(stream).data(stream, 'ok', true);
        });
      },
      { [maxConcurrentStreams]: 5 },
    );
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
    using lease = leaseOf(pool, server.url);
    await Call.text(lease);
    most = 0;
    const texts = await Promise.all(Array.from({ length: 60 }, () => Call.text(lease)));
    assert.equal(texts.length, 60);
    assert.ok(most <= 5, `${most} streams at a time`);
  });

  test('BB-34: that was reset under its requests is not used again in the same turn, 200 times over', async () => {
    await using sessions = await ResetSessions.open();
    await sessions.run(200);
  });

  test('is not starved by streams that nobody reads', async () => {
    const piece = Buffer.alloc(65_536, 'x');
    const pieces = 16;
    await using server = await RecordingServer.listen({
      protocols: ['h2'],
      handle: async (exchange) => {
        await exchange.writeHead(200);
        if (exchange.request.path === '/large') {
          // A piece at a time: a server that queues all of it refuses further streams itself.
          for (let count = 0; count < pieces; count += 1) {
            await exchange.write(piece);
          }
        }
        await exchange.end('ok');
      },
    });
    await using pool = new TransportPool({ profile: 'proxy', limits: { maxConnectionsPerHost: 1 } });
    using lease = leaseOf(pool, server.url);
    const stalled = Array.from({ length: 40 }, () =>
      Call.start(lease, { path: '/large', kind: 'stream', on: { head: (call) => call.controller.pause() } }),
    );
    await Promise.all(stalled.map((call) => call.head));
    await turns(50);
    assert.equal(await Call.text(lease), 'ok');
    for (const call of stalled) {
      assert.ok(call.bytes <= 2 * 262_144, `${call.bytes} bytes of a stream that is not read`);
      call.controller.resume();
    }
    await Promise.all(stalled.map((call) => call.ended));
    assert.deepEqual([...new Set(stalled.map((call) => call.bytes))], [pieces * piece.length + 2]);
    assert.equal(server.accepted, 1);
  });

  test('keeps the place of a request that is given up while it is paused only until the peer knows', async () => {
    await using server = await listenFrames((peer, stream) => {
      peer.head(stream).data(stream, 'x'.repeat(10_000), true);
    });
    await using pool = new TransportPool({ profile: 'proxy' });
    using lease = leaseOf(pool, server.url);
    const call = Call.start(lease, { on: { start: ({ controller }) => controller.pause() } });
    await call.head;
    await turns();
    call.controller.abort(new Error('enough'));
    assert.equal(call.code, 'enough');
    await until(() => pool.inspect().transports[0]?.connections.idle === 1, 'the session is free again');
  });
});
