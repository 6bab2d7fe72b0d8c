/** exec, attach and port-forward: byte for byte, in both directions, only after the cluster has agreed to what was asked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, sendRaw, statusIn } from './support/clients.ts';
import type { RigOptions } from './support/gateway-rig.ts';
import { SessionClient, execPath } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

for (const tls of [false, true]) {
  const front = tls ? 'TLS' : 'plain HTTP';
  const callers: RigOptions = tls ? { tls, tokens: ['good,joe,uid-1,dev'] } : {};
  const fields = tls ? ['Authorization: Bearer good'] : [];
  for (const protocol of ['SPDY/3.1', 'websocket'] as const) {
    test(`over ${front} ${protocol} is switched to, and bytes go both ways`, async (t) => {
      const { gateway, server } = await openSessions(t, {}, callers);
      using client = await SessionClient.open(gateway.url, { protocol, fields, early: 'early ' });
      await client.answered();
      assert.equal(client.status, 101);
      assert.deepEqual(client.values('upgrade'), [protocol]);
      client.socket.write('late', 'latin1');
      await client.until(() => client.body === 'early late');
      client.socket.end();
      await client.gone();
      assert.equal(client.ended, true);
      assert.equal(client.error, undefined);
      await server.waitForOpen(0);
    });
  }
}

test('a refusal of the cluster is passed on, and both connections end', async (t) => {
  const text = '{"kind":"Status","code":403,"message":"no"}';
  const { gateway, server } = await openSessions(t, {
    answer: (connection) =>
      void connection.write(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
      ),
  });
  using client = await SessionClient.open(gateway.url, { early: `GET ${execPath} HTTP/1.1\r\n\r\n` });
  await client.gone();
  assert.equal(client.status, 403);
  assert.equal(client.body, text);
  assert.deepEqual(client.values('connection'), ['close']);
  await server.waitForOpen(0);
  assert.equal(server.accepted, 1);
  assert.equal(server.connections[0]?.bytes, 0);
});

test('an answer that neither switches nor refuses is a 502', async (t) => {
  const { gateway, server } = await openSessions(t, {
    answer: (connection) => void connection.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
  });
  using client = await SessionClient.open(gateway.url);
  await client.gone();
  assert.equal(client.status, 502);
  assert.equal(statusIn(client.body).error, 'ERR_RH_UPGRADE_REFUSED');
  await server.waitForOpen(0);
});

for (const body of [
  'Content-Length: 5\r\n\r\nhello',
  'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
]) {
  test(`an upgrade with a body is refused, and the gateway goes on: ${body.split('\r\n', 1)[0]}`, async (t) => {
    const { gateway, server } = await openSessions(t);
    const head = `POST ${execPath} HTTP/1.1\r\nHost: ${new URL(gateway.url).host}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n`;
    assert.equal(codeOf(await sendRaw(gateway.url, head + body)), 400);
    assert.equal(server.accepted, 0);
    using client = await SessionClient.open(gateway.url);
    await client.answered();
    assert.equal(client.status, 101);
  });
}
