/** Browsers cannot send `Authorization` with a WebSocket, so a bearer token may come among its subprotocols; and it stays here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { UpgradeServer } from '@roundhouse/simulators';
import { ask } from './support/clients.ts';
import type { Rig } from './support/gateway-rig.ts';
import { FrontClients } from './support/fronts.ts';
import { SessionClient } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const open = (t: TestContext): Promise<Rig & { readonly server: UpgradeServer }> =>
  openSessions(t, {}, { tls: true, tokens: ['good,joe,uid-1,dev'] });

const prefix = 'base64url.bearer.authorization.k8s.io.';
const encoded = Buffer.from('good').toString('base64url');

test('a bearer token among the subprotocols says who is calling, and stays here', async (t) => {
  const { gateway, server, log, requestLines } = await open(t);
  for (const fields of [
    [`Sec-WebSocket-Protocol: ${prefix}${encoded}`],
    [`Sec-WebSocket-Protocol: base64.binary.k8s.io, ${prefix}${encoded}, v4.channel.k8s.io`],
  ]) {
    using client = await SessionClient.open(gateway.url, { protocol: 'websocket', fields });
    await client.answered();
    assert.equal(client.status, 101, client.body);
    assert.doesNotMatch(client.received, /base64url/);
    client.end();
    await client.gone();
  }
  assert.deepEqual(
    server.connections.map((connection) => connection.values('sec-websocket-protocol')),
    [
      ['v5.channel.k8s.io, v4.channel.k8s.io'],
      ['v5.channel.k8s.io, v4.channel.k8s.io', 'base64.binary.k8s.io, v4.channel.k8s.io'],
    ],
  );
  for (const connection of server.connections) {
    assert.deepEqual(connection.values('impersonate-user'), ['joe']);
    assert.deepEqual(connection.values('authorization'), ['Bearer gateway-token']);
    assert.doesNotMatch(connection.head, new RegExp(`${encoded}|base64url|Bearer good`));
  }
  // A request that is no upgrade must not carry it on either.
  const plain = await ask(gateway.url, '/clusters/plain/version', {
    fields: ['Authorization', 'Bearer good', 'Sec-WebSocket-Protocol', `chat, ${prefix}${encoded}`],
  });
  assert.equal(plain.status, 200);
  const unread = await ask(gateway.url, '/clusters/plain/version', {
    fields: ['Sec-WebSocket-Protocol', `chat, ${prefix}${encoded}`],
  });
  assert.equal(unread.status, 401);
  await requestLines(4);
  assert.doesNotMatch(JSON.stringify(log), new RegExp(encoded));
});

test('no request carries the token of the subprotocols to a cluster, upgrade or not', async (t) => {
  const { gateway, upstream } = await open(t);
  await ask(gateway.url, '/clusters/plain/version', {
    fields: ['Authorization', 'Bearer good', 'Sec-WebSocket-Protocol', `chat, ${prefix}${encoded}`],
  });
  assert.deepEqual(upstream.requests[0]?.headerValues('sec-websocket-protocol'), ['chat']);
});

test('a token among the subprotocols that is not one is a 400, and an unknown one a 401', async (t) => {
  const { gateway, server } = await open(t);
  for (const [value, status] of [
    [`${prefix}${Buffer.from('bad').toString('base64url')}`, 401],
    [`${prefix}${encoded}=`, 400],
    [prefix, 400],
    [`${prefix}a+b`, 400],
    [`${prefix}${Buffer.from('a\r\nb').toString('base64url')}`, 400],
    [`${prefix}${Buffer.from('a b').toString('base64url')}`, 400],
    [`${prefix}${encoded}, ${prefix}${encoded}`, 400],
  ] as const) {
    using client = await SessionClient.open(gateway.url, {
      protocol: 'websocket',
      fields: [`Sec-WebSocket-Protocol: ${value}`],
    });
    await client.gone();
    assert.equal(client.status, status, value);
  }
  assert.equal(server.accepted, 0);
});

test('over HTTP/2 it is the same', async (t) => {
  const { gateway, server } = await open(t);
  await using clients = new FrontClients(gateway.url, 'HTTP/2');
  for (const [value, status] of [
    [`chat, ${prefix}${encoded}=`, 400],
    [`chat, ${prefix}${encoded}`, 200],
  ] as const) {
    const client = await clients.openHttp2({ fields: { 'sec-websocket-protocol': value } });
    await client.answered();
    assert.equal(client.status, status);
  }
  const connection = await server.head();
  assert.deepEqual(connection.values('sec-websocket-protocol'), ['chat']);
  assert.deepEqual(connection.values('impersonate-user'), ['joe']);
});
