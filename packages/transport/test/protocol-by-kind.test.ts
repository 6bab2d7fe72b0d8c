/** `by-kind`: short requests over HTTP/1.1, long-running streams over HTTP/2 where it works, over HTTP/1.1 where it does not. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { before, describe, test } from 'node:test';
import tls from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { CertificateAuthority, ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { Exchange, HttpProtocol, IssuedCertificate } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool, directDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { okResponse } from './rig/raw-server.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

const { NGHTTP2_HTTP_1_1_REQUIRED } = constants;
const watch = { path: '/watch', kind: 'stream' } as const;

let pair: IssuedCertificate;
let material: TlsMaterial;

before(async () => {
  const authority = await CertificateAuthority.create();
  pair = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], usage: 'server' });
  material = TlsMaterial.fromPem({ ca: authority.certificatePem });
});

/** Watches are answered with a head and then nothing; everything else at once. */
async function serve(exchange: Exchange): Promise<void> {
  if (exchange.request.path === '/watch') {
    await exchange.writeHead(200);
  } else {
    await exchange.respond({ body: 'ok' });
  }
}

const listen = (protocols: readonly HttpProtocol[] = ['h2', 'http/1.1'], maxConcurrentStreams = 1_000) =>
  RecordingServer.listen({ tls: pair, protocols, maxConcurrentStreams, handle: serve });

const byKind = (url: string): Endpoint => Endpoint.from({ url, material, alpn: 'by-kind' });

/** The protocol that each request came over, in order: `GET /watch h2`. */
const seenBy = (server: RecordingServer): string[] =>
  server.requests.map(({ path, protocol }) => `${path} ${protocol}`);

async function watches(sender: Parameters<typeof Call.start>[0], count: number): Promise<Call[]> {
  const calls = Array.from({ length: count }, () => Call.start(sender, watch));
  await Promise.all(calls.map((call) => call.head));
  return calls;
}

describe('where the server speaks both', () => {
  test('short requests go over HTTP/1.1 and streams over HTTP/2, whichever comes first', async () => {
    for (const order of [
      ['unary', 'stream'],
      ['stream', 'unary'],
    ] as const) {
      await using server = await listen();
      await using pool = new TransportPool();
      using lease = pool.lease(byKind(server.url));
      for (const kind of [...order, ...order]) {
        await (kind === 'unary' ? Call.text(lease) : watches(lease, 1));
      }
      assert.deepEqual([...new Set(seenBy(server))].toSorted(), ['/ http/1.1', '/watch h2']);
      assert.equal(server.accepted, 2);
      const [seen] = pool.inspect().transports;
      assert.deepEqual(seen?.protocols, { unary: 'http/1.1', stream: 'h2' });
      assert.deepEqual(seen?.http2, { connections: 1, requests: 2 });
      await pool.destroy();
    }
  });

  test('a stream does not take an idle HTTP/1.1 connection, also when many come at once', async () => {
    await using server = await listen();
    await using pool = new TransportPool({ profile: 'proxy' });
    using lease = pool.lease(byKind(server.url));
    await Promise.all([Call.text(lease), Call.text(lease), Call.text(lease)]);
    await watches(lease, 30);
    assert.ok(server.requests.every(({ path, protocol }) => path !== '/watch' || protocol === 'h2'));
    assert.equal(pool.inspect().transports[0]?.http2.connections, 1);
    await pool.destroy();
  });

  test('idle connections of both protocols count together: where one more is idle, the one that is idle longest is closed', async () => {
    const clock = new ManualClock();
    await using server = await listen();
    await using pool = new TransportPool({ clock, limits: { maxIdlePerHost: 1 } });
    using lease = pool.lease(byKind(server.url));
    const [stream] = await watches(lease, 1);
    stream?.controller.abort(new Error('enough'));
    await until(() => pool.inspect().transports[0]?.connections.idle === 1, 'the session is idle');
    clock.advance(1);
    await Call.text(lease);
    await server.waitForOpen(1);
    assert.equal(await Call.text(lease), 'ok');
    assert.deepEqual([server.accepted, pool.inspect().totals.idleConnections], [2, 1]);
  });

  test('so many streams ride on one connection and no more, however many the server allows', async () => {
    await using server = await listen();
    await using pool = new TransportPool({ profile: 'proxy', limits: { maxStreamsPerConnection: 10 } });
    using lease = pool.lease(byKind(server.url));
    const calls = await watches(lease, 35);
    assert.deepEqual(pool.inspect().transports[0]?.http2, { connections: 4, requests: 35 });
    const perConnection = Map.groupBy(server.requests, ({ connection }) => connection);
    assert.deepEqual(
      [...perConnection.values()].map(({ length }) => length),
      [10, 10, 10, 5],
    );
    // A place that is free again is taken before another connection is opened.
    calls[3]?.controller.abort(new Error('enough'));
    await until(() => pool.inspect().transports[0]?.http2.requests === 34, 'one has left');
    await watches(lease, 6);
    assert.deepEqual(pool.inspect().transports[0]?.http2, { connections: 4, requests: 40 });
    await pool.destroy();
  });

  test('where the server allows less than we would take, it is that', async () => {
    await using server = await listen(['h2', 'http/1.1'], 3);
    await using pool = new TransportPool({ profile: 'proxy' });
    using lease = pool.lease(byKind(server.url));
    await watches(lease, 1);
    await watches(lease, 7);
    assert.equal(pool.inspect().transports[0]?.http2.connections, 3);
    await pool.destroy();
  });

  test('as many watches as may be open leave short requests all of their connections', async () => {
    await using server = await listen();
    await using pool = new TransportPool({
      limits: { maxConnectionsPerHost: 2, maxStreamsPerHost: 150, maxStreamsPerConnection: 20 },
    });
    using lease = pool.lease(byKind(server.url));
    await watches(lease, 150);
    assert.equal(await Call.code(lease, watch), 'ERR_RH_STREAM_LIMIT');
    const bodies = await Promise.all(Array.from({ length: 20 }, () => Call.text(lease)));
    assert.deepEqual([...new Set(bodies)], ['ok']);
    assert.equal(pool.inspect().transports[0]?.http2.connections, 8);
    assert.ok(server.accepted <= 10, `${server.accepted} connections`);
    await pool.destroy();
  });

  test('a GET that is waited for is not held up by a dial for streams that never ends', async () => {
    await using server = await listen();
    let dials = 0;
    const dialer = {
      id: 'first hangs',
      dial: (...all: Parameters<typeof directDialer.dial>) => {
        dials += 1;
        return dials === 1 ? new Promise<never>(() => undefined) : directDialer.dial(...all);
      },
    };
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url, material, alpn: 'by-kind', dialer }));
    Call.start(lease, watch);
    assert.equal(await Call.text(lease), 'ok');
    await pool.destroy();
  });

  test('a rotation and a removal reach the connections of both', async () => {
    await using server = await listen();
    await using pool = new TransportPool({ limits: { drainTimeoutMs: 0 } });
    const identity = pool.identity('alpha', byKind(server.url));
    await Call.text(identity);
    const [former] = await watches(identity, 1);
    identity.rotate(Endpoint.from({ url: server.url, material, alpn: 'by-kind', minVersion: 'TLSv1.3' }));
    await former?.ended;
    assert.equal(former?.code, 'ERR_RH_DRAINED');
    await server.waitForOpen(0);
    await Call.text(identity);
    const [present] = await watches(identity, 1);
    await server.waitForOpen(2);
    await identity.close();
    assert.equal(present?.code, 'ERR_RH_IDENTITY_CLOSED');
    await server.waitForOpen(0);
  });

  test('GOAWAY: what is under way goes on, new streams go over a new session, short requests feel nothing', async () => {
    await using server = await listen();
    await using pool = new TransportPool();
    using lease = pool.lease(byKind(server.url));
    const [first] = await watches(lease, 1);
    server.goaway();
    await until(() => pool.inspect().transports[0]?.http2.connections === 0, 'the session drains');
    await watches(lease, 1);
    assert.equal(await Call.text(lease), 'ok');
    assert.ok(!first?.settled);
    assert.deepEqual(seenBy(server), ['/watch h2', '/watch h2', '/ http/1.1']);
    assert.deepEqual(pool.inspect().transports[0]?.protocols, { unary: 'http/1.1', stream: 'h2' });
    await pool.destroy();
  });
});

test('where the server speaks HTTP/1.1 only, streams go over that, each on a connection of its own', async () => {
  await using server = await listen(['http/1.1']);
  await using pool = new TransportPool();
  using lease = pool.lease(byKind(server.url));
  await watches(lease, 5);
  assert.equal(await Call.text(lease), 'ok');
  assert.equal(server.accepted, 6);
  assert.deepEqual(pool.inspect().transports[0]?.protocols, { unary: 'http/1.1', stream: 'http/1.1' });
  await pool.destroy();
});

test('without TLS nothing is negotiated, and the policy is refused', () => {
  assert.throws(() => Endpoint.from({ url: 'http://127.0.0.1:1', alpn: 'by-kind' }), {
    code: 'ERR_RH_ENDPOINT_INVALID',
  });
});

test('each policy has a transport of its own', () => {
  const keys = (['http/1.1', 'h2', 'auto', 'by-kind'] as const).map(
    (alpn) => Endpoint.from({ url: 'https://127.0.0.1:1', alpn }).key,
  );
  assert.equal(new Set(keys).size, 4);
});

describe('a server that agrees to HTTP/2 and does not speak it', () => {
  /** What it does with a connection for which it has agreed to HTTP/2. */
  const faults: Readonly<Record<string, (socket: TLSSocket) => void>> = {
    'closes it': (socket) => socket.end(),
    'resets it': (socket) => socket.once('data', () => socket.destroy()),
    'answers in HTTP/1.1': (socket) => socket.once('data', () => socket.write(okResponse)),
  };
  for (const [what, fault] of Object.entries(faults)) {
    test(`${what}: the watch goes over HTTP/1.1, and so do others for a while; then it is tried again`, async () => {
      const clock = new ManualClock();
      const agreed: string[] = [];
      await using server = await listenTls((socket) => {
        agreed.push(String(socket.alpnProtocol));
        if (socket.alpnProtocol === 'h2') {
          fault(socket);
        } else {
          socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'));
        }
      });
      await using pool = new TransportPool({ clock, limits: { http2BackOffMs: 60_000 } });
      using lease = pool.lease(byKind(server.url));
      await watches(lease, 1);
      await watches(lease, 2);
      assert.deepEqual(agreed, ['h2', 'http/1.1', 'http/1.1', 'http/1.1']);
      assert.equal(pool.inspect().totals.http2Refusals, 1);
      assert.equal(pool.inspect().transports[0]?.protocols.stream, 'http/1.1');
      clock.advance(60_000);
      await watches(lease, 1);
      assert.deepEqual(agreed.slice(4), ['h2', 'http/1.1']);
      await pool.destroy();
    });
  }

  for (const method of ['GET', 'POST'] as const) {
    test(`${method}: HTTP_1_1_REQUIRED, and what may be sent again is sent over HTTP/1.1`, async () => {
      await using server = await listen();
      server.handle = async (exchange) => {
        if (exchange.request.protocol === 'h2') {
          exchange.reset(NGHTTP2_HTTP_1_1_REQUIRED);
        } else {
          await exchange.respond({ body: 'ok' });
        }
      };
      await using pool = new TransportPool();
      using lease = pool.lease(byKind(server.url));
      const sent = { method, kind: 'stream', ...(method === 'POST' && { body: 'x' }) } as const;
      const first = Call.start(lease, sent);
      await first.ended;
      assert.equal(first.code, method === 'GET' ? undefined : 'ERR_RH_PROTOCOL_REFUSED');
      assert.equal(await Call.text(lease, sent), 'ok');
      assert.deepEqual(
        server.requests.map(({ protocol }) => protocol),
        method === 'GET' ? ['h2', 'http/1.1', 'http/1.1'] : ['h2', 'http/1.1'],
      );
    });
  }

  test('where HTTP/2 was demanded there is no other way: an error', async () => {
    await using server = await listenTls((socket) => socket.end());
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url, material, alpn: 'h2' }));
    assert.equal(await Call.code(lease, watch), 'ERR_RH_PROTOCOL_REFUSED');
  });

  test('our own end of a session that has not been greeted yet is no refusal', async () => {
    await using server = await listenTls(() => undefined);
    await using pool = new TransportPool();
    const identity = pool.identity('alpha', byKind(server.url));
    const call = Call.start(identity, watch);
    await until(() => pool.inspect().transports[0]?.connections.active === 1, 'it is sent');
    await identity.close();
    assert.equal(call.code, 'ERR_RH_IDENTITY_CLOSED');
    assert.equal(pool.inspect().totals.http2Refusals, 0);
  });
});

/** Agrees to HTTP/2 with whoever offers it, and then does what the test says. */
async function listenTls(
  onSecure: (socket: TLSSocket) => void,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const sockets = new Set<TLSSocket>();
  const server = tls.createServer(
    { cert: pair.certPem, key: pair.keyPem, ALPNProtocols: ['h2', 'http/1.1'] },
    (socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      onSecure(socket);
      socket.resume();
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    url: `https://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) {
        socket.destroy();
      }
      await closed;
    },
  };
}
