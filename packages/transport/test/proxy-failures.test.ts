/** Proxies that fail: each failure has its name, is over at the dial limit at the latest, and leaves no socket behind. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { ManualClock, ProxyServer, RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool, proxyDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { RawServer } from './rig/raw-server.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const schemes = ['http', 'https', 'socks5h'] as const;
type Scheme = (typeof schemes)[number];

const through = (scheme: Scheme, port: number, url = 'http://cluster.test'): Endpoint =>
  Endpoint.from({ url, dialer: proxyDialer({ url: `${scheme}://jane:planted@127.0.0.1:${port}` }) });

/** A bare proxy that does this with each chunk that comes. */
function listen(onData: (socket: Socket, chunk: number) => void): Promise<RawServer> {
  return RawServer.listen((socket) => {
    let chunk = 0;
    socket.on('data', () => {
      onData(socket, chunk);
      chunk += 1;
    });
    socket.on('end', () => socket.end());
  });
}

interface Failure {
  readonly code: string;
  readonly message: RegExp;
  readonly answer: string | Buffer;
}

const noAnswer = /did not answer for cluster\.test:80: /;
const garbage: Record<string, Failure & { readonly scheme: Scheme }> = {};
const http: Readonly<Record<string, Failure>> = {
  'that it wants credentials': {
    code: 'ERR_RH_PROXY_AUTH',
    message: /does not take the credentials \(407\)$/,
    answer: 'HTTP/1.1 407 planted\r\nProxy-Authenticate: Basic realm="planted"\r\n\r\nplanted',
  },
  ...Object.fromEntries(
    [100, 101, 201, 204, 302, 400, 403, 500, 502, 503, 504].map((status): [string, Failure] => [
      String(status),
      {
        code: 'ERR_RH_PROXY_REFUSED',
        message: new RegExp(`made no connection to cluster\\.test:80: it answered ${status}$`),
        answer: `HTTP/1.1 ${status} planted\r\nContent-Length: 99\r\n\r\nplanted`,
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries({
      'another protocol': 'SSH-2.0-planted\r\n',
      'another version': 'HTTP/2 200\r\n\r\n',
      'no number': 'HTTP/1.1 planted\r\n\r\n',
      'four digits': 'HTTP/1.1 2000 OK\r\n\r\n',
      'a status line that is folded': 'HTTP/1.1\r\n 200 OK\r\n\r\n',
      'an alert of TLS': Buffer.from([21, 3, 3, 0, 2, 2, 40]),
      'a head without an end': `HTTP/1.1 200 OK\r\n${'X: planted\r\n'.repeat(2_000)}`,
      'a head that is too long': `HTTP/1.1 200 OK\r\n${'X: planted\r\n'.repeat(2_000)}\r\n`,
    }).map(([what, answer]): [string, Failure] => [
      what,
      { code: 'ERR_RH_PROXY_FAILED', message: noAnswer, answer },
    ]),
  ),
};
for (const [what, failure] of Object.entries(http)) garbage[`http: ${what}`] = { scheme: 'http', ...failure };
const socks: Readonly<Record<string, Buffer>> = {
  'another version': Buffer.from([4, 0]),
  HTTP: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
  'a method that was not offered': Buffer.from([5, 1]),
  'another version in the answer': Buffer.from([5, 0, 4, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
  'an address of an unknown type': Buffer.from([5, 0, 5, 0, 0, 2, 0, 0, 0, 0, 0, 0]),
};
for (const [what, answer] of Object.entries(socks)) {
  garbage[`socks5: ${what}`] = { scheme: 'socks5h', code: 'ERR_RH_PROXY_FAILED', message: noAnswer, answer };
}
garbage['socks5: that no method will do'] = {
  scheme: 'socks5h',
  code: 'ERR_RH_PROXY_AUTH',
  message: /takes neither user and password nor nobody$/,
  answer: Buffer.from([5, 255]),
};

describe('a proxy that answers', () => {
  for (const [what, { scheme, code, message, answer }] of Object.entries(garbage)) {
    test(`${what}: fails with ${code}, quotes nothing, and its connection is closed`, async () => {
      await using proxy = await listen((socket, chunk) => chunk === 0 && socket.write(answer));
      await using pool = new TransportPool();
      using lease = pool.lease(through(scheme, proxy.port));
      const call = Call.start(lease);
      await call.ended;
      assert.equal(call.code, code);
      assert.match(call.error?.message ?? '', message);
      const { cause } = call.error ?? {};
      assert.doesNotMatch(
        `${call.error?.stack} ${cause instanceof Error ? cause.stack : ''}`,
        /planted|jane/,
      );
      await until(() => proxy.open === 0, 'nothing open at the proxy');
    });
  }
});

const dead: Readonly<Record<string, (socket: Socket) => void>> = {
  closes: (socket) => socket.end(),
  resets: (socket) => socket.resetAndDestroy(),
  'says half of a yes and closes': (socket) => socket.end('HTTP/1.1 200 OK\r\n'),
};
describe('a proxy that ends the connection', () => {
  for (const scheme of schemes) {
    for (const [what, end] of Object.entries(dead)) {
      test(`${scheme}: ${what}: ERR_RH_PROXY_FAILED`, async () => {
        await using proxy = await listen(end);
        await using pool = new TransportPool();
        using lease = pool.lease(through(scheme, proxy.port));
        assert.equal(await Call.code(lease), 'ERR_RH_PROXY_FAILED');
        await until(() => proxy.open === 0, 'nothing open at the proxy');
      });
    }

    test(`${scheme}: or is not there at all: ERR_RH_PROXY_FAILED`, async () => {
      await using proxy = await listen(() => undefined);
      const { port } = proxy;
      await proxy[Symbol.asyncDispose]();
      await using pool = new TransportPool();
      using lease = pool.lease(through(scheme, port));
      const call = Call.start(lease);
      await call.ended;
      assert.equal(call.code, 'ERR_RH_PROXY_FAILED');
      assert.match(call.error?.message ?? '', /cannot be reached: .*ECONNREFUSED/);
    });
  }

  test('right behind its yes is a failure and no hang, with TLS and without', async () => {
    for (const url of ['http://cluster.test', 'https://cluster.test']) {
      await using proxy = await listen((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
      await using pool = new TransportPool();
      using lease = pool.lease(through('http', proxy.port, url));
      assert.match(
        (await Call.code(lease)) ?? '',
        /^ERR_RH_(?:DIAL_FAILED|TLS_FAILED|CONNECTION_LOST|CONNECTION_STALE)$/,
      );
      await until(() => proxy.open === 0, 'nothing open at the proxy');
    }
  });
});

describe('BB-71: a proxy that says nothing, or too slowly', () => {
  const silent: Readonly<Record<string, (scheme: Scheme) => (socket: Socket, chunk: number) => void>> = {
    nothing: () => () => undefined,
    'half of its answer': (scheme) => (socket, chunk) =>
      chunk === 0 && socket.write(scheme === 'http' ? 'HTTP/1.1 200 OK\r\nX: ' : Buffer.from([5])),
    'a yes to the user and nothing more': (scheme) => (socket, chunk) =>
      scheme === 'socks5h' && socket.write(chunk === 0 ? Buffer.from([5, 2]) : Buffer.from([1, 0])),
  };
  for (const scheme of schemes) {
    for (const [what, answer] of Object.entries(silent)) {
      test(`${scheme}: ${what}: fifty dials end at the dial limit, and with them their connections`, async () => {
        await using proxy = await listen(answer(scheme));
        const clock = new ManualClock();
        await using pool = new TransportPool({ clock, profile: 'proxy', limits: { dialTimeoutMs: 1_000 } });
        using lease = pool.lease(through(scheme, proxy.port));
        const calls = Array.from({ length: 50 }, () => Call.start(lease));
        await until(() => proxy.sockets.length === 50, 'fifty connections');
        await turns();
        clock.advance(999);
        await turns();
        assert.equal(proxy.open, 50);
        clock.advance(1);
        await Promise.all(calls.map(({ ended }) => ended));
        assert.deepEqual([...new Set(calls.map(({ code }) => code))], ['ERR_RH_DIAL_TIMEOUT']);
        await until(() => proxy.open === 0, 'nothing open at the proxy');
      });
    }

    test(`${scheme}: a dial that nobody waits for any more ends with its connection`, async () => {
      await using proxy = await listen(() => undefined);
      await using pool = new TransportPool();
      using lease = pool.lease(through(scheme, proxy.port));
      const call = Call.start(lease);
      await until(() => proxy.sockets.length === 1, 'a connection');
      await pool.close({ timeoutMs: 0 });
      await call.ended;
      await until(() => proxy.open === 0, 'nothing open at the proxy');
    });
  }
});

test('a failure is not remembered: the next request asks the proxy again', async () => {
  await using server = await RecordingServer.listen();
  await using proxy = await ProxyServer.listen({
    protocol: 'http-connect',
    resolve: () => ({ port: server.port }),
    answer: (connection) =>
      void (proxy.connections.length === 1 ? connection.refuse(503) : connection.open()),
  });
  await using pool = new TransportPool();
  using lease = pool.lease(through('http', proxy.port));
  assert.equal(await Call.code(lease), 'ERR_RH_PROXY_REFUSED');
  assert.equal(await Call.text(lease), 'ok');
});
