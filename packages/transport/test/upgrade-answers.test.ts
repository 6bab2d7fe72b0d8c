/** Only a 101 that answers what was asked makes a connection; every other answer is bounded, and its connection is closed. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, UpgradeServer } from '@roundhouse/simulators';
import type { UpgradeConnection } from '@roundhouse/simulators';
import { Endpoint, RoundhouseError, TransportPool } from '@roundhouse/transport';
import type { OrdinaryAnswer, UpgradeOptions } from '@roundhouse/transport';
import { endsWithNothingOpen } from './rig/open-handles.ts';

endsWithNothingOpen();

const spdy: UpgradeOptions = { method: 'POST', path: '/exec', protocol: 'SPDY/3.1', headers: [] };
const webSocket: UpgradeOptions = {
  method: 'GET',
  path: '/exec',
  protocol: 'websocket',
  headers: [
    'Sec-WebSocket-Key',
    'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version',
    '13',
    'Sec-WebSocket-Protocol',
    'v5.channel.k8s.io, v4.channel.k8s.io',
    'Sec-WebSocket-Protocol',
    'channel.k8s.io',
  ],
};

const fails = (code: string) => (error: unknown) => RoundhouseError.is(error) && error.code === code;

async function ordinary(server: UpgradeServer, pool: TransportPool, options = spdy): Promise<OrdinaryAnswer> {
  const answer = await pool.identity('cluster', Endpoint.from({ url: server.url })).upgrade(options);
  assert.ok(!answer.switched, 'the server switched');
  return answer;
}

describe('BB-36: an answer that does not switch', () => {
  const status = '{"kind":"Status","code":403}';
  const megabyte = 'x'.repeat(1_048_576);
  for (const [title, bytes, expected] of [
    [
      '403 with a body of known length',
      `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${status.length}\r\n\r\n${status}`,
      { statusCode: 403, body: status, complete: true },
    ],
    [
      '404 in chunks',
      'HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngone\r\n3\r\n!!!\r\n0\r\n\r\n',
      { statusCode: 404, body: 'gone!!!', complete: true },
    ],
    [
      '500 with 1 MB, of which the beginning is kept',
      `HTTP/1.1 500 Internal Server Error\r\nContent-Length: ${megabyte.length}\r\n\r\n${megabyte}`,
      { statusCode: 500, body: megabyte.slice(0, 65_536), complete: false },
    ],
    [
      '200 with a body that ends with the connection',
      'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nwelcome',
      { statusCode: 200, body: 'welcome', complete: true },
    ],
    [
      '200 that has an Upgrade field all the same',
      'HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 2\r\n\r\nok',
      { statusCode: 200, body: 'ok', complete: true },
    ],
    [
      '302',
      'HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\n\r\n',
      { statusCode: 302, body: '', complete: true },
    ],
    [
      '403 behind an early hint',
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno',
      { statusCode: 403, body: 'no', complete: true },
    ],
  ] as const) {
    test(`${title}, is handed on, and its connection is closed`, async () => {
      await using server = await UpgradeServer.listen({
        answer: (connection) => {
          void connection.write(bytes);
          if (bytes.includes('Connection: close')) connection.socket.end();
        },
      });
      await using pool = new TransportPool();
      const { statusCode, body, complete } = await ordinary(server, pool);
      assert.deepEqual({ statusCode, body: body.toString(), complete }, expected);
      await server.waitForOpen(0);
      assert.equal(server.connections[0]?.bytes, 0);
      assert.equal(pool.inspect().totals.upgrades, 0);
    });
  }

  test('and never ends is given up at the time limit', async () => {
    const clock = new ManualClock();
    await using server = await UpgradeServer.listen({
      answer: (connection) =>
        void connection.write('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n'),
    });
    await using pool = new TransportPool({ clock, limits: { requestTimeoutMs: 5_000 } });
    const asked = ordinary(server, pool);
    const refused = assert.rejects(asked, fails('ERR_RH_REQUEST_TIMEOUT'));
    await server.head();
    clock.advance(5_000);
    await refused;
    await server.waitForOpen(0);
  });

  test('300 of them leave nothing', async () => {
    await using server = await UpgradeServer.listen({
      answer: (connection) => void connection.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'),
    });
    await using pool = new TransportPool({ profile: 'proxy' });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
    const answers = await Promise.all(Array.from({ length: 300 }, () => identity.upgrade(spdy)));
    assert.deepEqual([...new Set(answers.map((answer) => !answer.switched && answer.statusCode))], [403]);
    await server.waitForOpen(0);
    assert.equal(server.accepted, 300);
  });
});

describe('BB-35: a 101 that does not answer what was asked', () => {
  const accept = (changes: Readonly<Record<string, string | undefined>>) => (connection: UpgradeConnection) =>
    void connection.write(connection.switchingHead(changes));
  for (const [title, options, answer] of [
    ['names another protocol', spdy, accept({ Upgrade: 'websocket' })],
    ['names no protocol', spdy, accept({ Upgrade: undefined })],
    ['does not say that the connection switches', spdy, accept({ Connection: 'keep-alive' })],
    [
      'has the wrong Sec-WebSocket-Accept',
      webSocket,
      accept({ 'Sec-WebSocket-Accept': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }),
    ],
    ['has no Sec-WebSocket-Accept', webSocket, accept({ 'Sec-WebSocket-Accept': undefined })],
    [
      'chose a subprotocol that was not offered',
      webSocket,
      accept({ 'Sec-WebSocket-Protocol': 'v6.channel.k8s.io' }),
    ],
    [
      'chose two subprotocols',
      webSocket,
      accept({ 'Sec-WebSocket-Protocol': 'v5.channel.k8s.io, v4.channel.k8s.io' }),
    ],
    [
      'uses an extension that was not offered',
      webSocket,
      accept({ 'Sec-WebSocket-Extensions': 'permessage-deflate' }),
    ],
  ] as const) {
    test(`${title}: is refused, and its connection is closed`, async () => {
      await using server = await UpgradeServer.listen({ answer });
      await using pool = new TransportPool();
      const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
      await assert.rejects(identity.upgrade(options), fails('ERR_RH_UPGRADE_INVALID'));
      await server.waitForOpen(0);
      assert.equal(server.connections[0]?.bytes, 0);
    });
  }

  test('what is no HTTP, or ends early, is refused', async () => {
    for (const [bytes, code] of [
      ['SSH-2.0-OpenSSH_9.9\r\n', 'ERR_RH_RESPONSE_INVALID'],
      ['HTTP/1.1 101 Switching Pro', 'ERR_RH_CONNECTION_LOST'],
      ['', 'ERR_RH_CONNECTION_LOST'],
      ['HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nno', 'ERR_RH_CONNECTION_LOST'],
    ] as const) {
      await using server = await UpgradeServer.listen({
        answer: (connection) => void connection.socket.end(bytes),
      });
      await using pool = new TransportPool();
      const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
      await assert.rejects(identity.upgrade(spdy), fails(code), bytes);
      await server.waitForOpen(0);
    }
  });
});

describe('an answer that comes in pieces', () => {
  for (const [name, options] of [
    ['SPDY/3.1', spdy],
    ['websocket', webSocket],
  ] as const) {
    test(`${name}: a 101 with early bytes behind it, cut at every byte, loses none of them`, async () => {
      let cut = 0;
      let length = 0;
      await using server = await UpgradeServer.listen({
        answer: (connection) => {
          const bytes = Buffer.from(`${connection.switchingHead()}\0\xffearly\r\n\r\nHTTP/1.1 200`, 'latin1');
          length = bytes.length;
          connection.socket.write(bytes.subarray(0, cut));
          setImmediate(() => connection.socket.end(bytes.subarray(cut)));
        },
      });
      await using pool = new TransportPool();
      const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
      do {
        const answer = await identity.upgrade(options);
        assert.ok(answer.switched);
        const chunks: Buffer[] = [];
        for await (const chunk of answer.socket) {
          assert.ok(Buffer.isBuffer(chunk));
          chunks.push(chunk);
        }
        // Node.js does not agree with itself on whether the end of the loop ends a socket whose other side is open.
        answer.socket.destroy();
        assert.equal(
          Buffer.concat(chunks).toString('latin1'),
          '\0\xffearly\r\n\r\nHTTP/1.1 200',
          `cut at ${cut}`,
        );
        cut += 1;
      } while (cut <= length);
      await server.waitForOpen(0);
    });
  }
});

describe('a request for an upgrade', () => {
  for (const [title, options] of [
    ['several protocols', { ...spdy, protocol: 'SPDY/3.1, websocket' }],
    ['no protocol', { ...spdy, protocol: '' }],
    ['a line break in the protocol', { ...spdy, protocol: 'SPDY/3.1\r\nX: y' }],
    ['a Connection field', { ...spdy, headers: ['Connection', 'close'] }],
    ['an Upgrade field', { ...spdy, headers: ['upgrade', 'h2c'] }],
    ['a body', { ...spdy, headers: ['Content-Length', '5'] }],
    ['a body in chunks', { ...spdy, headers: ['Transfer-Encoding', 'chunked'] }],
    ['a line break in a field', { ...spdy, headers: ['X', 'a\r\nb: c'] }],
    ['a path that is none', { ...spdy, path: 'exec' }],
  ] as const) {
    test(`with ${title} is refused before anything is dialed`, async () => {
      await using server = await UpgradeServer.listen();
      await using pool = new TransportPool();
      const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
      await assert.rejects(identity.upgrade(options), fails('ERR_RH_REQUEST_INVALID'));
      assert.equal(server.accepted, 0);
    });
  }
});
