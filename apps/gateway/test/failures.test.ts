import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { CertificateAuthority } from '@roundhouse/simulators';
import type { Handler } from '@roundhouse/simulators';
import { ask, askHttp2, dialHttp2, open, statusIn } from './support/clients.ts';
import { base64, callersAuthority, contextFor, listenUpstream, openRig } from './support/gateway-rig.ts';

const path = '/clusters/alpha/api/v1/namespaces/web/pods';

test('an upstream that cannot be reached or verified, or that is no HTTP server, is a 502 Status and shows in the state', async (t) => {
  const strangers = await CertificateAuthority.create({ name: 'strangers' });
  const otherName = await strangers.issue({ commonName: 'x', dnsNames: ['other.example'], usage: 'server' });
  await using wrongName = await listenUpstream({ tls: otherName });
  await using plain = await listenUpstream({ tls: undefined as never });
  const closed = await listenUpstream();
  const closedContext = contextFor(closed);
  await closed[Symbol.asyncDispose]();
  const silent = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('SSH-2.0-nothing\r\n'));
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const address = silent.address();
  const silentPort = typeof address === 'object' && address !== null ? address.port : 0;
  const { gateway } = await openRig(t, {
    contexts: (server) => ({
      closed: closedContext,
      untrusted: {
        cluster: { server: server.url, 'certificate-authority-data': base64(strangers.certificatePem) },
      },
      misnamed: {
        cluster: { server: wrongName.url, 'certificate-authority-data': base64(strangers.certificatePem) },
      },
      plaintext: { cluster: { server: plain.url.replace('http:', 'https:') } },
      nothing: { cluster: { server: `http://127.0.0.1:${silentPort}` } },
    }),
  });
  for (const [name, code] of [
    ['closed', 'ERR_RH_DIAL_FAILED'],
    ['untrusted', 'ERR_RH_TLS_UNTRUSTED'],
    ['misnamed', 'ERR_RH_TLS_UNTRUSTED'],
    ['plaintext', 'ERR_RH_TLS_FAILED'],
    ['nothing', 'ERR_RH_RESPONSE_INVALID'],
  ] as const) {
    const { status, body, headers } = await ask(gateway.url, `/clusters/${name}/version`);
    assert.equal(status, 502, name);
    assert.equal(statusIn(body).error, code, body);
    assert.equal(headers['content-type'], 'application/json');
    const cluster = gateway.clusters.find((found) => found.name === name);
    assert.equal(cluster?.state, 'unreachable');
    assert.equal(cluster.lastError?.code, code);
  }
});

test('a cluster that answers again is ready again', async (t) => {
  let broken = true;
  const { gateway } = await openRig(t, {
    handle: (exchange) => exchange.respond({ status: broken ? 401 : 200 }),
  });
  assert.equal(gateway.clusters[0]?.state, 'unknown');
  await ask(gateway.url, path);
  assert.equal(gateway.clusters[0]?.state, 'unreachable');
  broken = false;
  await ask(gateway.url, path);
  assert.equal(gateway.clusters[0]?.state, 'ready');
});

test('a POST whose connection dies is a 502 and is not sent twice', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    handle: async (exchange) => {
      if (exchange.request.method === 'GET') return exchange.respond({});
      await exchange.readBody();
      exchange.reset();
    },
  });
  await ask(gateway.url, path);
  const { status } = await ask(gateway.url, path, { method: 'POST', body: '{}' });
  assert.equal(status, 502);
  assert.equal(upstream.requests.filter(({ method }) => method === 'POST').length, 1);
});

test('a limit that is reached is a 503 with Retry-After, a time limit a 504', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    limits: {
      maxConnectionsPerCluster: 1,
      maxWaitingPerCluster: 1,
      maxStreamsPerCluster: 1,
      requestTimeoutMs: 400,
    },
    handle: async (exchange) => {
      if (exchange.request.path.includes('watch')) await exchange.writeHead(200);
    },
  });
  const watch = await open(gateway.url, `${path}?watch=1`);
  const second = await ask(gateway.url, `${path}?watch=1`);
  assert.equal(second.status, 503);
  assert.equal(second.headers['retry-after'], '1');
  assert.equal(statusIn(second.body).error, 'ERR_RH_STREAM_LIMIT');
  watch.destroy();

  const running = ask(gateway.url, path);
  await upstream.waitForRequests(2);
  const waiting = ask(gateway.url, path);
  // The one that waits has come in once the pool says so.
  while (gateway.inspect().transports[0]?.waiting !== 1)
    await new Promise((resolve) => setImmediate(resolve));
  const third = await ask(gateway.url, path);
  assert.equal(third.status, 503);
  assert.equal(statusIn(third.body).error, 'ERR_RH_QUEUE_FULL');
  assert.equal(statusIn(third.body).reason, 'ServiceUnavailable');
  assert.equal((await running).status, 504);
  await waiting;
});

const redirects: Record<string, Handler> = {
  'with Location': (exchange) =>
    exchange.respond({
      status: Number(exchange.request.headerValues('x-status')[0]),
      headers: { Location: 'https://evil.example/steal', 'Set-Cookie': 'a=b' },
      body: 'moved',
    }),
  'without Location': (exchange) =>
    exchange.respond({ status: Number(exchange.request.headerValues('x-status')[0]) }),
};
const fivePaths = [
  '/api/v1/pods',
  '/apis',
  '/openapi/v2',
  '/api/v1/namespaces/web/pods/p/log?follow=1',
  '/api/v1/namespaces/web/services/s/proxy/x',
];

for (const [form, handle] of Object.entries(redirects)) {
  test(`BB-66: a redirect ${form} is a 502 Status, goes nowhere and is not followed`, async (t) => {
    const { gateway, upstream } = await openRig(t, { handle });
    let sent = 0;
    for (const target of fivePaths) {
      for (const code of ['300', '301', '302', '303', '307', '308']) {
        const answer = await ask(gateway.url, `/clusters/alpha${target}`, { fields: ['X-Status', code] });
        sent += 1;
        assert.equal(answer.status, 502, `${code} ${target}`);
        assert.equal(answer.headers.location, undefined);
        assert.equal(answer.headers['set-cookie'], undefined);
        assert.equal(statusIn(answer.body).error, 'ERR_RH_UPSTREAM_REDIRECT');
      }
    }
    assert.equal(upstream.requests.length, sent);
  });
}

test('BB-66: 304 passes with its ETag, over HTTP/1.1 and HTTP/2', async (t) => {
  const { gateway } = await openRig(t, {
    tls: true,
    handle: (exchange) =>
      exchange.respond({
        status: exchange.request.headerValues('if-none-match').length > 0 ? 304 : 200,
        headers: { ETag: '"v1"' },
      }),
  });
  const { certPem: cert, keyPem: key } = await callersAuthority.issue({
    commonName: 'jane',
    usage: 'client',
  });
  await using session = await dialHttp2(gateway.url, { cert, key });
  for (const target of fivePaths) {
    const answer = await ask(gateway.url, `/clusters/alpha${target}`, {
      cert,
      key,
      fields: ['If-None-Match', '"v1"'],
    });
    assert.deepEqual([answer.status, answer.headers.etag, answer.body], [304, '"v1"', '']);
    const over2 = await askHttp2(session, { ':path': `/clusters/alpha${target}`, 'if-none-match': '"v1"' });
    assert.deepEqual([over2.status, over2.headers['etag'], over2.body], [304, '"v1"', '']);
  }
});

test('hop-by-hop fields of the answer stay behind, repeated ones stay repeated', async (t) => {
  const { gateway } = await openRig(t, {
    handle: (exchange) =>
      exchange.respond({
        headers: {
          Connection: 'keep-alive, X-Private',
          'X-Private': '1',
          'Keep-Alive': 'timeout=5',
          'Alt-Svc': 'h3=":443"',
          'Proxy-Authenticate': 'Basic',
          Warning: ['299 - "one"', '299 - "two"'],
          'Audit-Id': 'abc',
        },
        body: 'x',
      }),
  });
  const response = await open(gateway.url, path);
  response.resume();
  const names = response.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  for (const name of ['x-private', 'alt-svc', 'proxy-authenticate']) assert.ok(!names.includes(name), name);
  assert.deepEqual(response.headersDistinct['warning'], ['299 - "one"', '299 - "two"']);
  assert.equal(response.headers['audit-id'], 'abc');
});

test('HEAD, 204 and empty answers keep their form', async (t) => {
  const { gateway } = await openRig(t, {
    handle: (exchange) => {
      if (exchange.request.method === 'DELETE') return exchange.respond({ status: 204 });
      return exchange.respond({ headers: { 'content-length': '5' }, body: 'hello' });
    },
  });
  const head = await ask(gateway.url, path, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '5', '']);
  const deleted = await ask(gateway.url, `${path}/p`, { method: 'DELETE' });
  assert.deepEqual([deleted.status, deleted.body], [204, '']);
});
