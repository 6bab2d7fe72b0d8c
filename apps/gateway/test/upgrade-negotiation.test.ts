/** What a client offers reaches the cluster as it came, and what the cluster chooses reaches the client. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpgradeServer } from '@roundhouse/simulators';
import { ask, statusIn } from './support/clients.ts';
import { adminCertificate, base64, contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import { openKubelet, vias } from './support/kubelet-rig.ts';
import { SessionClient, execPath } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

/** A request with these fields and no others but Host. */
async function request(base: string, method: string, fields: readonly string[]): Promise<SessionClient> {
  const client = await SessionClient.dial(base);
  const { host } = new URL(base);
  client.write([`${method} ${execPath} HTTP/1.1`, `Host: ${host}`, ...fields, '', ''].join('\r\n'));
  await client.answered();
  return client;
}

const webSocket = ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13'];

test('BB-43: fields of the negotiation keep their order, their lines and their letters', async (t) => {
  const { gateway, server } = await openSessions(t);
  const spdy = [
    'X-Stream-Protocol-Version: v5.channel.k8s.io',
    'X-Stream-Protocol-Version: v4.channel.k8s.io',
    'x-stream-protocol-version: v3.channel.k8s.io',
    'X-Stream-Protocol-Version: v2.channel.k8s.io',
    'X-Stream-Protocol-Version: channel.k8s.io',
  ];
  using asKubectl = await request(gateway.url, 'POST', [
    'User-Agent: kubectl/v1.35.2',
    'Content-Length: 0',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    ...spdy,
  ]);
  assert.equal(asKubectl.status, 101);
  assert.deepEqual(asKubectl.values('x-stream-protocol-version'), ['v5.channel.k8s.io']);
  const first = await server.head(0);
  assert.deepEqual(
    first.fields
      .filter(([name]) => name.toLowerCase() === 'x-stream-protocol-version')
      .map((f) => f.join(': ')),
    spdy,
  );
  using oneLine = await request(gateway.url, 'GET', [
    ...webSocket,
    'Connection: keep-alive, Upgrade',
    'Upgrade: WebSocket',
    'Sec-WebSocket-Protocol: v5.channel.k8s.io,v4.channel.k8s.io,  v3.channel.k8s.io',
  ]);
  assert.equal(oneLine.status, 101);
  assert.deepEqual(oneLine.values('upgrade'), ['WebSocket']);
  assert.deepEqual((await server.head(1)).values('sec-websocket-protocol'), [
    'v5.channel.k8s.io,v4.channel.k8s.io,  v3.channel.k8s.io',
  ]);
  using twoLines = await request(gateway.url, 'GET', [
    'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io',
    ...webSocket,
    'connection: UPGRADE',
    'upgrade: websocket',
    'sec-websocket-protocol: v5.channel.k8s.io',
    'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits',
  ]);
  assert.equal(twoLines.status, 101);
  assert.deepEqual(twoLines.values('sec-websocket-protocol'), ['SPDY/3.1+portforward.k8s.io']);
  const third = await server.head(2);
  assert.deepEqual(third.values('sec-websocket-protocol'), [
    'SPDY/3.1+portforward.k8s.io',
    'v5.channel.k8s.io',
  ]);
  assert.deepEqual(third.values('upgrade'), ['websocket']);
  assert.deepEqual(third.values('sec-websocket-extensions'), ['permessage-deflate; client_max_window_bits']);
});

test('an offer of several protocols is taken up for the first that is relayed; one of none is not taken up', async (t) => {
  const { gateway, server, upstream } = await openSessions(t);
  using several = await request(gateway.url, 'GET', [
    ...webSocket,
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'Upgrade: TLS/1.2, WEBSOCKET, SPDY/3.1',
    'HTTP2-Settings: AAA',
  ]);
  assert.equal(several.status, 101);
  const connection = await server.head();
  assert.deepEqual(connection.values('upgrade'), ['WEBSOCKET']);
  assert.deepEqual(connection.values('http2-settings'), []);
  for (const fields of [
    ['Connection: Upgrade', 'Upgrade: h2c'],
    // Not said to be for the next hop.
    ['Upgrade: websocket', ...webSocket],
  ]) {
    using client = await SessionClient.dial(gateway.url);
    const head = ['GET /clusters/plain/version HTTP/1.1', 'Host: 127.0.0.1', ...fields, '', ''];
    client.write(head.join('\r\n'));
    await client.answered();
    assert.equal(client.status, 200);
  }
  using old = await SessionClient.dial(gateway.url);
  old.write(
    'GET /clusters/plain/version HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  );
  await old.answered();
  assert.equal(old.status, 200);
  for (const { rawHeaders } of upstream.requests)
    assert.ok(!rawHeaders.some((name) => /^upgrade$/i.test(name)));
  assert.equal(server.accepted, 1);
});

test('a connection that has carried requests may become a session, and its idle time no longer counts', async (t) => {
  const { gateway, server } = await openSessions(
    t,
    {},
    { limits: { keepAliveTimeoutMs: 100, headTimeoutMs: 300 } },
  );
  using client = await SessionClient.dial(gateway.url);
  client.write('GET /clusters/plain/version HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await client.until(() => client.received.endsWith('ok'));
  const { length } = client.received;
  const { host } = new URL(gateway.url);
  client.write(
    [
      `GET ${execPath} HTTP/1.1`,
      `Host: ${host}`,
      ...webSocket,
      'Connection: Upgrade',
      'Upgrade: websocket',
      '',
      '',
    ].join('\r\n'),
  );
  await client.until(() => client.received.indexOf('\r\n\r\n', length) > 0);
  // Node.js adds a second to the idle time.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  client.write('still there');
  await client.until(() => client.received.endsWith('still there'));
  assert.equal(server.open, 1);
});

for (const via of vias) {
  test(`BB-42: ${via}: beside warm HTTP/2 connections an upgrade has one of HTTP/1.1, in the same name`, async (t) => {
    const { cluster, exec, gateway } = await openKubelet(
      t,
      { protocols: ['h2', 'http/1.1'] },
      { upstreamAlpn: 'h2' },
    );
    const get = (): ReturnType<typeof ask> =>
      ask(gateway.url, '/clusters/alpha/version', { fields: ['Authorization', 'Bearer good'] });
    assert.equal((await get()).status, 200);
    assert.deepEqual(
      cluster.connections.map(({ protocol }) => protocol),
      ['h2'],
    );
    for (let count = 0; count < 2; count += 1) {
      await using client = await exec(via, ['sh', '-c', 'echo hi; exit 7']);
      const { stdout, code } = await client.collect();
      assert.deepEqual([stdout.toString(), code], ['hi\n', 7]);
    }
    assert.equal((await get()).status, 200);
    assert.deepEqual(
      cluster.connections.map(({ protocol }) => protocol),
      ['h2', 'http/1.1', 'http/1.1'],
    );
    for (const { tls } of cluster.connections)
      assert.equal(tls?.servername, cluster.connections[0]?.tls?.servername);
  });
}

test('BB-42: a cluster that speaks HTTP/2 alone is a 502 at once, and one that knows no ALPN is served', async (t) => {
  const only = await openSessions(t, { protocols: ['h2'] });
  const startedAt = performance.now();
  using refused = await SessionClient.open(only.gateway.url);
  await refused.gone();
  assert.equal(refused.status, 502);
  assert.match(statusIn(refused.body).error, /^ERR_RH_(?:TLS_FAILED|ALPN_MISMATCH)$/);
  assert.ok(performance.now() - startedAt < 1_000);
  await only.server.waitForOpen(0);
  const none = await openSessions(t, { tls: { ...upstreamTls, alpn: false } });
  using client = await SessionClient.open(none.gateway.url);
  await client.answered();
  assert.equal(client.status, 101);
});

test('an exec is one dial, which shows the certificate of the gateway and resumes the TLS session of the one before', async (t) => {
  const user = {
    'client-certificate-data': base64(adminCertificate.certPem),
    'client-key-data': base64(adminCertificate.keyPem),
  };
  const seen: unknown[] = [];
  const server = await UpgradeServer.listen({
    tls: upstreamTls,
    answer: (connection) => {
      seen.push([connection.clientCommonName, connection.sessionReused, connection.alpnProtocol]);
      void connection.write(connection.switchingHead());
    },
  });
  t.after(() => server[Symbol.asyncDispose]());
  const { gateway } = await openRig(t, { contexts: () => ({ alpha: contextFor(server, user) }) });
  for (let count = 0; count < 3; count += 1) {
    using client = await SessionClient.open(gateway.url, {
      protocol: count === 1 ? 'websocket' : 'SPDY/3.1',
    });
    await client.answered();
    client.end();
    await client.gone();
  }
  assert.deepEqual(seen, [
    ['gateway', false, 'http/1.1'],
    ['gateway', true, 'http/1.1'],
    ['gateway', true, 'http/1.1'],
  ]);
  assert.equal(server.accepted, 3);
});
