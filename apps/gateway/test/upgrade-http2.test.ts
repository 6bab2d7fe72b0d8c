/** WebSockets over HTTP/2 in front (RFC 8441): a stream is the connection, beside others on one session. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { UpgradeServerOptions } from '@roundhouse/simulators';
import { askHttp2, statusIn } from './support/clients.ts';
import { FrontClients, frontOptions } from './support/fronts.ts';
import { execPath } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

async function open(t: TestContext, server: UpgradeServerOptions = {}, limits = {}) {
  const rig = await openSessions(t, server, { ...frontOptions('HTTP/2'), limits });
  const clients = new FrontClients(rig.gateway.url, 'HTTP/2');
  return { ...rig, clients, [Symbol.asyncDispose]: () => clients[Symbol.asyncDispose]() };
}

const authorization = { authorization: 'Bearer good' };

test('the client is told that it may ask, and the cluster sees an HTTP/1.1 WebSocket', async (t) => {
  await using rig = await open(t);
  const { server, clients } = rig;
  assert.equal((await clients.http2()).remoteSettings.enableConnectProtocol, true);
  const client = await clients.openHttp2({
    path: `${execPath}&x=%2F`,
    fields: {
      ...authorization,
      origin: 'https://somewhere.example',
      // Keys mean nothing here, and must not stand beside ours.
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      'sec-websocket-accept': 'nonsense',
      'sec-websocket-extensions': 'permessage-deflate',
    },
    early: 'early',
  });
  await client.until(() => client.body === 'early');
  assert.equal(client.status, 200);
  assert.equal(client.fields['sec-websocket-protocol'], 'v5.channel.k8s.io');
  for (const name of ['sec-websocket-accept', 'connection', 'upgrade']) {
    assert.equal(client.fields[name], undefined);
  }
  const connection = await server.head();
  assert.match(connection.requestLine, /^GET \/api\/v1\/[^ ]*&x=%2F HTTP\/1\.1$/);
  assert.deepEqual(connection.values('upgrade'), ['websocket']);
  assert.equal(connection.values('connection').length, 1);
  assert.equal(connection.values('sec-websocket-key').length, 1);
  assert.notEqual(connection.values('sec-websocket-key')[0], 'AAAAAAAAAAAAAAAAAAAAAA==');
  assert.deepEqual(connection.values('sec-websocket-version'), ['13']);
  assert.deepEqual(connection.values('sec-websocket-protocol'), ['v5.channel.k8s.io, v4.channel.k8s.io']);
  assert.doesNotMatch(connection.head, /^:/m);
  client.end();
  await client.gone();
  assert.equal(client.stream.rstCode, constants.NGHTTP2_NO_ERROR);
  await server.waitForOpen(0);
});

test('what is no WebSocket is none: other protocols, a CONNECT without one, a body that is announced', async (t) => {
  await using rig = await open(t);
  const { server, clients } = rig;
  for (const [fields, status] of [
    [{ ':protocol': 'SPDY/3.1' }, 405],
    [{ ':protocol': 'connect-udp' }, 405],
    [{ ':protocol': 'x, websocket' }, 405],
    [{ 'content-length': '5' }, 400],
  ] as const) {
    const client = await clients.openHttp2({ fields: { ...authorization, ...fields } });
    await client.answered();
    assert.equal(client.status, status, JSON.stringify(fields));
    await client.gone();
  }
  const plain = (await clients.http2()).request({
    ':method': 'CONNECT',
    ':authority': 'elsewhere:443',
    ...authorization,
  });
  const [answered]: unknown[] = await once(plain, 'response');
  assert.equal(Reflect.get(Object(answered), ':status'), 405);
  assert.equal(server.accepted, 0);
  // Nothing of that ended the connection.
  const answer = await askHttp2(await clients.http2(), {
    ':path': '/clusters/plain/version',
    ...authorization,
  });
  assert.equal(answer.status, 200);
});

test('BB-36: a refusal of the cluster is the answer on the stream, and the connection to the cluster ends', async (t) => {
  const text = '{"kind":"Status","code":403,"message":"no"}';
  await using rig = await open(t, {
    answer: (connection) =>
      void connection.write(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      ),
  });
  const { server, clients } = rig;
  const client = await clients.openHttp2({ fields: authorization, early: 'GET /secret HTTP/1.1\r\n\r\n' });
  await client.gone();
  assert.equal(client.status, 403);
  assert.equal(client.body, text);
  assert.equal(client.error, undefined);
  await server.waitForOpen(0);
  assert.equal(server.connections[0]?.bytes, 0);
});

test('BB-35: a 101 whose fields no HTTP/2 can carry leaves no connection to the cluster', async (t) => {
  await using rig = await open(t, {
    answer: (connection) =>
      void connection.write(
        connection.switchingHead({
          Date: 'Tue, 01 Dec 2026 00:00:00 GMT\r\nDate: now',
          'HTTP2-Settings': 'x',
        }),
      ),
  });
  const { server, clients } = rig;
  const client = await clients.openHttp2({ fields: authorization });
  await client.gone();
  assert.ok(client.status >= 500);
  await server.waitForOpen(0);
});

test('a stream that is reset is no good end for the cluster, whatever the code; one that is ended is', async (t) => {
  await using rig = await open(t, { allowHalfOpen: true });
  const { server, clients } = rig;
  for (const code of [
    constants.NGHTTP2_CANCEL,
    constants.NGHTTP2_NO_ERROR,
    constants.NGHTTP2_INTERNAL_ERROR,
  ]) {
    const client = await clients.openHttp2({ fields: authorization });
    await client.answered();
    client.stream.close(code);
    await server.waitForOpen(0);
  }
  const reset = await clients.openHttp2({ fields: authorization });
  await reset.answered();
  const broken = await server.head(3);
  reset.reset();
  await server.waitForOpen(0);
  assert.equal(broken.ended, false);
  assert.equal(Reflect.get(Object(broken.error), 'code'), 'ECONNRESET');
});

test('a cluster that breaks off ends the stream by a reset, without a good end before it', async (t) => {
  await using rig = await open(t, {
    answer: (connection) => void connection.write(`${connection.switchingHead()}some output`),
  });
  const { server, clients } = rig;
  const client = await clients.openHttp2({ fields: authorization });
  await client.until(() => client.body === 'some output');
  (await server.head()).reset();
  await client.closes();
  assert.equal(client.ended, false, 'the end of a stream that is broken off');
  assert.notEqual(client.stream.rstCode, constants.NGHTTP2_NO_ERROR);
});

test('a client that ends its side before the answer gets all that the cluster sends with it', async (t) => {
  const output = 'x'.repeat(200_000);
  await using rig = await open(t, {
    allowHalfOpen: true,
    answer: (connection) => {
      void connection.write(connection.switchingHead() + output);
      connection.socket.once('end', () => connection.socket.end());
    },
  });
  const { server, clients } = rig;
  for (let count = 0; count < 20; count += 1) {
    const early = count % 2 === 0 ? 'in' : '';
    const client = await clients.openHttp2({ fields: authorization, early });
    client.end();
    await client.closes();
    assert.equal(client.ended, true);
    assert.equal(client.body.length, output.length);
  }
  await server.waitForOpen(0);
  server.connections.forEach(({ received }, index) => {
    assert.equal(received.toString(), index % 2 === 0 ? 'in' : '');
  });
});

test('one session carries many streams, and one that is not read holds up no other', async (t) => {
  await using rig = await open(t);
  const { server, clients } = rig;
  const [stalled, ...others] = await Promise.all(
    Array.from({ length: 100 }, () => clients.openHttp2({ fields: authorization })),
  );
  assert.ok(stalled !== undefined);
  await Promise.all([stalled, ...others].map((client) => client.answered()));
  stalled.stream.pause();
  // More than any window: the echo of it waits for the client, and then the client for the cluster.
  const pushed = Buffer.alloc(2_000_000, 'p');
  stalled.write(pushed);
  const text = 'o'.repeat(50_000);
  await Promise.all(
    others.map(async (client) => {
      client.write(text);
      await client.until(() => client.body === text);
      client.end();
      await client.gone();
      assert.equal(client.error, undefined);
    }),
  );
  await server.waitForOpen(1);
  stalled.stream.resume();
  stalled.end();
  await stalled.closes();
  assert.equal(stalled.body.length, pushed.length);
  assert.equal((await clients.http2()).destroyed, false);
  await server.waitForOpen(0);
});

test('BB-42: a limit on sessions is a 503 on its stream, and ends nothing else', async (t) => {
  await using rig = await open(t, {}, { maxSessionsPerCluster: 1 });
  const { server, clients } = rig;
  const first = await clients.openHttp2({ fields: authorization });
  await first.answered();
  const second = await clients.openHttp2({ fields: authorization });
  await second.gone();
  assert.equal(second.status, 503);
  assert.equal(statusIn(second.body).code, 503);
  first.write('still there');
  await first.until(() => first.body === 'still there');
  assert.equal(server.accepted, 1);
});
