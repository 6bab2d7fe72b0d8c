/** Towards clusters, short requests go over HTTP/1.1 and streams over HTTP/2, unless it is said otherwise; and it can be seen. */

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import type { Exchange } from '@roundhouse/simulators';
import { ask, open } from './support/clients.ts';
import { contextFor, kubeconfigText, openRig } from './support/gateway-rig.ts';
import type { Rig, RigOptions } from './support/gateway-rig.ts';

const both = ['h2', 'http/1.1'] as const;
const versionPath = '/clusters/alpha/version';
const watchPath = '/clusters/alpha/api/v1/pods?watch=1';
const logPath = '/clusters/alpha/api/v1/namespaces/a/pods/p/log?follow=true';

async function serve(exchange: Exchange): Promise<void> {
  if (/watch|follow/.test(exchange.request.path)) {
    await exchange.writeHead(200, { 'content-type': 'application/json' });
  } else {
    await exchange.respond({ body: 'ok' });
  }
}

const openBoth = (t: TestContext, options: RigOptions = {}): Promise<Rig> =>
  openRig(t, { upstream: { protocols: both }, handle: serve, ...options });

async function streams(url: string, path: string, count: number): Promise<IncomingMessage[]> {
  const responses = await Promise.all(Array.from({ length: count }, () => open(url, path)));
  assert.deepEqual([...new Set(responses.map(({ statusCode }) => statusCode))], [200]);
  return responses;
}

/** Which protocols the requests came over, for instance `{ version: ['http/1.1'] }`. */
function protocolsOf({ requests }: RecordingServer): Record<string, string[]> {
  const seen: Record<string, string[]> = {};
  for (const { path, protocol } of requests) {
    const what = /watch|log|version/.exec(path)?.[0] ?? path;
    seen[what] = [...new Set([...(seen[what] ?? []), protocol])];
  }
  return seen;
}

async function shownProtocols({ gateway }: Rig): Promise<unknown> {
  return JSON.parse((await ask(gateway.adminUrl, '/debug/clusters')).body).clusters[0].protocols;
}

const metric = async ({ gateway }: Rig, line: RegExp): Promise<string | undefined> =>
  line.exec((await ask(gateway.adminUrl, '/metrics')).body)?.[1];

test('by default short requests go over HTTP/1.1, watches and followed logs over HTTP/2, and all places tell', async (t) => {
  const rig = await openBoth(t);
  assert.deepEqual(await shownProtocols(rig), { unary: null, stream: null }, 'nothing was asked of it yet');
  await ask(rig.gateway.url, versionPath);
  assert.deepEqual(await shownProtocols(rig), { unary: 'http/1.1', stream: null });
  await streams(rig.gateway.url, watchPath, 3);
  await streams(rig.gateway.url, logPath, 2);
  await ask(rig.gateway.url, versionPath);
  assert.deepEqual(protocolsOf(rig.upstream), { version: ['http/1.1'], watch: ['h2'], log: ['h2'] });
  assert.equal(rig.upstream.accepted, 2);
  assert.deepEqual(await shownProtocols(rig), { unary: 'http/1.1', stream: 'h2' });
  const [transport] = rig.gateway.inspect().transports;
  assert.deepEqual(transport?.protocols, { unary: 'http/1.1', stream: 'h2' });
  assert.deepEqual(transport?.http2, { connections: 1, requests: 5 });
  const shown = 'roundhouse_gateway_cluster_protocol{cluster="alpha",kind="stream",protocol="h2"} 1';
  assert.ok((await ask(rig.gateway.adminUrl, '/metrics')).body.includes(shown));
  assert.equal(await metric(rig, /^roundhouse_transport_http2_connections (\d+)/m), '1');
  assert.equal(await metric(rig, /^roundhouse_transport_http2_requests (\d+)/m), '5');
});

for (const upstreamAlpn of ['http/1.1', 'h2'] as const) {
  test(`${upstreamAlpn} can be demanded for all of them`, async (t) => {
    const rig = await openBoth(t, { upstreamAlpn });
    await ask(rig.gateway.url, versionPath);
    await streams(rig.gateway.url, watchPath, 2);
    assert.deepEqual(protocolsOf(rig.upstream), { version: [upstreamAlpn], watch: [upstreamAlpn] });
    assert.deepEqual(await shownProtocols(rig), { unary: upstreamAlpn, stream: upstreamAlpn });
  });
}

test('a cluster without HTTP/2, and one without TLS, are asked over HTTP/1.1', async (t) => {
  await using plain = await RecordingServer.listen({ handle: serve });
  const rig = await openRig(t, {
    handle: serve,
    contexts: (server) => ({
      alpha: contextFor(server),
      plain: { cluster: { server: plain.url }, user: {} },
    }),
  });
  for (const name of ['alpha', 'plain']) {
    await ask(rig.gateway.url, versionPath.replace('alpha', name));
    await streams(rig.gateway.url, watchPath.replace('alpha', name), 2);
  }
  for (const server of [rig.upstream, plain]) {
    assert.deepEqual(protocolsOf(server), { version: ['http/1.1'], watch: ['http/1.1'] });
  }
});

test('no connection carries more watches than it may, and a GET beside them is not held up', async (t) => {
  const rig = await openBoth(t, {
    upstream: { protocols: both, maxConcurrentStreams: 1_000 },
    limits: { maxStreamsPerConnection: 10, maxConnectionsPerCluster: 1, maxStreamsPerCluster: 45 },
  });
  await streams(rig.gateway.url, watchPath, 45);
  assert.deepEqual(rig.gateway.inspect().transports[0]?.http2, { connections: 5, requests: 45 });
  assert.equal((await ask(rig.gateway.url, watchPath)).status, 503);
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(rig.gateway.url, versionPath)));
  assert.deepEqual([...new Set(answers.map(({ body }) => body))], ['ok']);
  assert.equal(rig.upstream.accepted, 6);
});

test('a cluster that is removed, and one whose credentials change, loses the connections of both', async (t) => {
  const rig = await openBoth(t, { limits: { drainTimeoutMs: 100 } });
  await ask(rig.gateway.url, versionPath);
  const [former] = await streams(rig.gateway.url, watchPath, 1);
  await rig.upstream.waitForOpen(2);
  // Another server name is another trust: the watch has until the drain limit, what is idle goes at once.
  const fields = contextFor(rig.upstream);
  await rig.replaceKubeconfig(
    kubeconfigText({
      alpha: { ...fields, cluster: { ...fields.cluster, 'tls-server-name': 'localhost' } },
    }),
  );
  former?.resume();
  await rig.upstream.waitForOpen(0);
  await ask(rig.gateway.url, versionPath);
  const [present] = await streams(rig.gateway.url, watchPath, 1);
  await rig.upstream.waitForOpen(2);
  await rig.replaceKubeconfig(kubeconfigText({}));
  present?.resume();
  await rig.upstream.waitForOpen(0);
});

test('a cluster that has agreed to HTTP/2 and wants HTTP/1.1 is watched over that', async (t) => {
  const http11Required = 13;
  const rig = await openBoth(t, {
    handle: async (exchange) => {
      if (exchange.request.protocol === 'h2') {
        exchange.reset(http11Required);
      } else {
        await serve(exchange);
      }
    },
  });
  await streams(rig.gateway.url, watchPath, 3);
  assert.deepEqual(await shownProtocols(rig), { unary: 'http/1.1', stream: 'http/1.1' });
  assert.equal(await metric(rig, /^roundhouse_transport_http2_refusals_total (\d+)/m), '1');
});

test('where a cluster says GOAWAY, watches go on, and the next goes over a new connection', async (t) => {
  const rig = await openBoth(t);
  const [first] = await streams(rig.gateway.url, watchPath, 1);
  rig.upstream.goaway();
  while (rig.gateway.inspect().transports[0]?.http2.connections !== 0) {
    await new Promise(setImmediate);
  }
  await streams(rig.gateway.url, watchPath, 1);
  assert.deepEqual(protocolsOf(rig.upstream), { watch: ['h2'] });
  assert.equal(rig.upstream.open, 2);
  assert.equal(first?.destroyed, false);
});

test('BB-11: 300 objects applied at 10 a time, by callers with tokens of their own: at most 10 connections', async (t) => {
  const callers = Array.from({ length: 20 }, (_, index) => `token-${index},user-${index},,`);
  for (const { identity, upstreamAlpn, most } of [
    { identity: 'impersonate', upstreamAlpn: 'auto', most: 10 },
    { identity: 'passthrough', upstreamAlpn: 'auto', most: 10 },
    { identity: 'impersonate', upstreamAlpn: 'h2', most: 1 },
  ] as const) {
    const rig = await openBoth(t, { tokens: callers, identity, upstreamAlpn });
    let next = 0;
    const statuses = new Set<number>();
    const apply = async (): Promise<void> => {
      while (next < 300) {
        const index = next;
        next += 1;
        const { status } = await ask(
          rig.gateway.url,
          `/clusters/alpha/api/v1/namespaces/a/configmaps/c${index}?fieldManager=kubectl`,
          {
            method: 'PATCH',
            fields: [
              'Authorization',
              `Bearer token-${index % callers.length}`,
              'Content-Type',
              'application/apply-patch+yaml',
            ],
            body: `{"n":${index}}`,
          },
        );
        statuses.add(status);
      }
    };
    await Promise.all(Array.from({ length: 10 }, apply));
    assert.deepEqual([...statuses], [200]);
    assert.equal(rig.upstream.received, 300);
    assert.ok(rig.upstream.accepted <= most, `${rig.upstream.accepted} connections (${upstreamAlpn})`);
    // Each came in its own caller's name over the connections that all share.
    const names = rig.upstream.requests.map((request) =>
      identity === 'impersonate'
        ? request.headerValues('impersonate-user')[0]?.replace('user-', '')
        : request.headerValues('authorization')[0]?.replace('Bearer token-', ''),
    );
    const bodies = rig.upstream.requests.map(({ path }) => Number(/c(\d+)\?/.exec(path)?.[1]) % 20);
    assert.deepEqual(names.map(Number), bodies);
    assert.equal(rig.gateway.inspect().totals.built, 1);
  }
});

test('BB-11: callers who come and go with watches of their own share the connections, too', async (t) => {
  const callers = Array.from({ length: 20 }, (_, index) => `token-${index},user-${index},,`);
  const rig = await openBoth(t, { tokens: callers });
  for (let round = 0; round < 3; round += 1) {
    const watches = await Promise.all(
      callers.map((_, index) =>
        open(rig.gateway.url, watchPath, { fields: ['Authorization', `Bearer token-${index}`] }),
      ),
    );
    for (const watch of watches) {
      watch.destroy();
    }
    while (rig.gateway.inspect().transports[0]?.streams !== 0) {
      await new Promise(setImmediate);
    }
  }
  assert.equal(rig.upstream.received, 60);
  assert.equal(rig.upstream.accepted, 1);
});
