/**
 * What is not a switch to what was asked for is an ordinary answer: the client gets it, both connections end, and whatever the client
 * has sent behind its request reaches nobody.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ResourceBaseline } from '@roundhouse/simulators';
import type { Exchange, UpgradeConnection } from '@roundhouse/simulators';
import { ask, statusIn } from './support/clients.ts';
import { SessionClient, execPath, sessionHead } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const status = (code: number): string =>
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', code, message: 'no' });
const answerOf = (code: number, text: string): string =>
  `HTTP/1.1 ${code} X\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
const smuggled = 'GET /clusters/alpha/api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n';
const protocols = ['SPDY/3.1', 'websocket'] as const;

/** Nothing of the client's behind its request came this far, and the connection is gone. */
function assertNothingPassed(connections: readonly UpgradeConnection[]): void {
  for (const connection of connections) assert.equal(connection.received.toString('latin1'), '');
}

for (const protocol of protocols) {
  for (const code of [200, 400, 403, 404]) {
    test(`BB-35: ${protocol}: behind a ${code} there is no way to the cluster, neither at once nor later`, async (t) => {
      const { gateway, server } = await openSessions(t, {
        // Keeps the connection open, as a server does that expects the next request on it.
        answer: (connection) => void connection.write(answerOf(code, status(code))),
      });
      using atOnce = await SessionClient.open(gateway.url, { protocol, early: smuggled });
      using later = await SessionClient.open(gateway.url, { protocol });
      await Promise.all([atOnce.answered(), later.answered()]);
      later.write(smuggled);
      await Promise.all([atOnce.gone(), later.gone()]);
      for (const client of [atOnce, later]) {
        assert.equal(client.status, code === 200 ? 502 : code);
        assert.equal(client.received.match(/HTTP\/1\.1/g)?.length, 1, 'one answer');
        assert.deepEqual(client.values('connection'), ['close']);
        assert.equal(client.error, undefined);
      }
      await server.waitForOpen(0);
      assert.equal(server.accepted, 2);
      assertNothingPassed(server.connections);
      // Nothing of it was kept for others either.
      await ask(gateway.url, '/clusters/alpha/version').catch(() => undefined);
      assert.equal(server.accepted, 3);
    });
  }
}

for (const [what, changes] of [
  ['another protocol', { Upgrade: 'other/1' }],
  ['a list of protocols', { Upgrade: 'websocket, SPDY/3.1' }],
  ['no protocol', { Upgrade: undefined }],
  ['no Connection field', { Connection: undefined }],
  ['a stream protocol that was not offered', { 'X-Stream-Protocol-Version': 'v9.channel.k8s.io' }],
] as const) {
  test(`BB-35: SPDY/3.1: a 101 with ${what} is none`, (t) => refusedSwitch(t, 'SPDY/3.1', changes));
}

for (const [what, changes] of [
  ['another protocol', { Upgrade: 'SPDY/3.1' }],
  ['a key that was not answered', { 'Sec-WebSocket-Accept': undefined }],
  ["another key's answer", { 'Sec-WebSocket-Accept': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }],
  ['a subprotocol that was not offered', { 'Sec-WebSocket-Protocol': 'v9.channel.k8s.io' }],
  ['two subprotocols', { 'Sec-WebSocket-Protocol': 'v5.channel.k8s.io, v4.channel.k8s.io' }],
  ['an extension that was not offered', { 'Sec-WebSocket-Extensions': 'permessage-deflate' }],
] as const) {
  test(`BB-35: WebSocket: a 101 with ${what} is none`, (t) => refusedSwitch(t, 'websocket', changes));
}

async function refusedSwitch(
  t: Parameters<typeof openSessions>[0],
  protocol: (typeof protocols)[number],
  changes: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const { gateway, server } = await openSessions(t, {
    answer: (connection) => void connection.write(`${connection.switchingHead(changes)}secret`),
  });
  using client = await SessionClient.open(gateway.url, { protocol, early: smuggled });
  await client.gone();
  assert.equal(client.status, 502);
  assert.match(statusIn(client.body).error, /^ERR_RH_UPGRADE_(?:INVALID|REFUSED)$/);
  assert.doesNotMatch(client.received, /secret/);
  await server.waitForOpen(0, { timeoutMs: 2_000 });
  assertNothingPassed(server.connections);
}

test('BB-35: a request with a body is no request for an upgrade: its body is not taken for what it looks like', async (t) => {
  const { gateway, server } = await openSessions(t);
  for (const line of [`POST ${execPath}`, 'CONNECT 127.0.0.1:443']) {
    for (const framing of [`Content-Length: ${smuggled.length}`, 'Transfer-Encoding: chunked']) {
      using client = await SessionClient.dial(gateway.url);
      const fields = ['Host: 127.0.0.1', 'Connection: Upgrade', 'Upgrade: SPDY/3.1', framing];
      client.write(`${line} HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n${smuggled}`);
      await client.gone();
      assert.equal(client.status, 400);
      assert.equal(client.received.match(/HTTP\/1\.1 \d/g)?.length, 1, client.received);
    }
  }
  assert.equal(server.accepted, 0);
});

test('BB-35: an upgrade that stands behind another request waits for its turn, and the two answers do not mix', async (t) => {
  const first = Promise.withResolvers<Exchange>();
  const { gateway, server } = await openSessions(t, {}, { handle: (exchange) => first.resolve(exchange) });
  using client = await SessionClient.dial(gateway.url);
  const get = 'GET /clusters/plain/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  client.write(`${get}${sessionHead(gateway.url)}early`);
  const exchange = await first.promise;
  // The answer of the second may be there long before that of the first.
  await sleep(100);
  assert.equal(client.received, '');
  await exchange.respond({ body: 'the first' });
  await client.until(() => client.received.includes('early'));
  assert.match(
    client.received,
    /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nthe firstHTTP\/1\.1 101 [^]*\r\n\r\nearly$/,
  );
  client.end();
  await client.gone();
  await server.waitForOpen(0);
});

test('BB-36: 300 refusals of every kind, half of whose clients leave at once, leave no connection', async (t) => {
  const kinds: ((connection: UpgradeConnection) => void)[] = [
    (connection) => void connection.write(answerOf(403, status(403))),
    (connection) =>
      void connection.write('HTTP/1.1 404 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nnone\r\n0\r\n\r\n'),
    (connection) => void connection.write(answerOf(500, 'x'.repeat(1_000_000))),
    (connection) => void connection.write(answerOf(200, 'ok')),
    (connection) => void connection.write('HTTP/1.1 404 X\r\nContent-Length: 100\r\n\r\nit never ends'),
  ];
  const { gateway, server } = await openSessions(
    t,
    {
      answer: (connection) => {
        const [, kind] = /command=(\d)/.exec(connection.requestLine) ?? [];
        kinds[Number(kind)]?.(connection);
      },
    },
    { limits: { requestTimeoutMs: 500 } },
  );
  const baseline = ResourceBaseline.take();
  const expected = [403, 404, 500, 502, 504];
  await Promise.all(
    Array.from({ length: 300 }, async (_value, index) => {
      const kind = index % kinds.length;
      using client = await SessionClient.open(gateway.url, {
        path: execPath.replace('ls', String(kind)),
        protocol: index % 2 === 0 ? 'websocket' : 'SPDY/3.1',
      });
      if (index % 4 < 2) return;
      await client.gone();
      assert.equal(client.status, expected[kind]);
      assert.ok(client.received.length < 70_000, 'the text is bounded');
      if (kind < 2) assert.equal(client.body, kind === 0 ? status(403) : 'none');
    }),
  );
  await server.waitForOpen(0, { timeoutMs: 2_000 });
  await baseline.returned({ timeoutMs: 2_000 });
});

test('BB-36: a client gets the refusal also when it has sent more than anybody reads', async (t) => {
  const { gateway, server } = await openSessions(t, {
    answer: (connection) => void connection.write(answerOf(403, status(403))),
  });
  using client = await SessionClient.open(gateway.url, { early: 'x'.repeat(3_000_000) });
  await client.gone();
  assert.equal(client.status, 403);
  assert.equal(client.body, status(403));
  assert.equal(server.connections[0]?.bytes, 0);
});

for (const protocol of protocols) {
  test(`BB-66: ${protocol}: a redirect is neither followed nor passed on, and a 304 is no switch`, async (t) => {
    const { gateway, server, upstream } = await openSessions(t, {
      answer: (connection) => {
        const [, code] = /command=(\d+)/.exec(connection.requestLine) ?? [];
        const location = connection.requestLine.includes('located')
          ? [`Location: ${upstream.url}/stolen`]
          : [];
        void connection.write([`HTTP/1.1 ${code} X`, 'Content-Length: 0', ...location, '', ''].join('\r\n'));
      },
    });
    for (const code of [300, 301, 302, 303, 304, 307, 308]) {
      for (const located of ['located', 'bare']) {
        using client = await SessionClient.open(gateway.url, {
          protocol,
          path: execPath.replace('ls', `${code}&command=${located}`),
        });
        await client.gone();
        assert.equal(client.status, 502, String(code));
        assert.deepEqual(client.values('location'), []);
        const { error } = statusIn(client.body);
        assert.equal(error, code === 304 ? 'ERR_RH_UPGRADE_REFUSED' : 'ERR_RH_UPSTREAM_REDIRECT');
      }
    }
    assert.equal(upstream.accepted, 0);
    await server.waitForOpen(0);
  });
}

for (const [what, head] of [
  ['a refused upgrade', sessionHead],
  ['what is no HTTP', () => 'this is no request\r\n\r\n'],
] as const) {
  test(`BB-36: the connection of ${what} is taken from a client that does not go`, async (t) => {
    const { gateway } = await openSessions(t, {
      answer: (connection) => void connection.write(answerOf(403, status(403))),
    });
    using client = await SessionClient.dial(gateway.url);
    client.write(head(gateway.url));
    await client.until(() => client.ended);
    // It keeps its side open and goes on sending, which is noticed when there is nobody any more.
    while (!client.closed) {
      client.write('x');
      await sleep(50);
    }
    assert.equal(client.received.match(/HTTP\/1\.1 4\d\d/g)?.length, 1);
  });
}
