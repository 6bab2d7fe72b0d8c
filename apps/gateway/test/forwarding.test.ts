import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, codeOf, sendRaw, statusIn } from './support/clients.ts';
import { openRig } from './support/gateway-rig.ts';

test('a request reaches the cluster with the gateway credential and its answer comes back', async (t) => {
  const { gateway, upstream, requestLines } = await openRig(t, {
    handle: (exchange) => exchange.respond({ status: 200, headers: { 'X-From': 'upstream' }, body: 'hello' }),
  });
  const answer = await ask(gateway.url, '/clusters/alpha/api/v1/namespaces/web/pods/p?a=1', {
    fields: ['Authorization', 'Bearer callers', 'X-Thing', 'one', 'X-Thing', 'two'],
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.body, 'hello');
  assert.equal(answer.headers['x-from'], 'upstream');
  const [request] = upstream.requests;
  assert.equal(request?.path, '/api/v1/namespaces/web/pods/p?a=1');
  assert.deepEqual(request?.headerValues('authorization'), ['Bearer gateway-token']);
  assert.deepEqual(request?.headerValues('x-thing'), ['one', 'two']);
  assert.deepEqual(request?.headerValues('host'), [new URL(upstream.url).host]);
  const [line] = await requestLines(1);
  assert.equal(line?.['cluster'], 'alpha');
  assert.equal(line?.['verb'], 'get');
  assert.equal(line?.['code'], 200);
  assert.equal(line?.['bytesOut'], 5);
});

test('both ways of addressing a cluster end at the same path', async (t) => {
  const { gateway, upstream } = await openRig(t);
  await ask(gateway.url, '/clusters/alpha/version');
  await ask(
    gateway.url,
    '/apis/gateway.open-cluster-management.io/v1alpha1/clustergateways/alpha/proxy/version',
  );
  assert.deepEqual(
    upstream.requests.map(({ path }) => path),
    ['/version', '/version'],
  );
});

test('a body goes up as it came, with its length where the client said it, else in chunks', async (t) => {
  const { gateway, upstream, requestLines } = await openRig(t, {
    handle: async (exchange) => {
      await exchange.readBody();
      await exchange.respond({ status: 201 });
    },
  });
  const path = '/clusters/alpha/api/v1/namespaces/web/configmaps';
  const answer = await ask(gateway.url, path, { method: 'POST', body: 'x'.repeat(300_000) });
  assert.equal(answer.status, 201);
  const { host } = new URL(gateway.url);
  const chunked = await sendRaw(
    gateway.url,
    `PATCH ${path}/a HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  );
  assert.equal(codeOf(chunked), 201);
  const [first, second] = upstream.requests;
  assert.deepEqual(first?.headerValues('content-length'), ['300000']);
  assert.equal(first?.bodyBytes, 300_000);
  assert.deepEqual(second?.headerValues('transfer-encoding'), ['chunked']);
  assert.equal(second?.body.toString(), 'hello');
  assert.deepEqual(
    (await requestLines(2)).map((line) => line['bytesIn']),
    [300_000, 5],
  );
});

test('an unknown cluster is a 404 Status', async (t) => {
  const { gateway, upstream } = await openRig(t);
  const answer = await ask(gateway.url, '/clusters/nope/version');
  assert.equal(answer.status, 404);
  const status = statusIn(answer.body);
  assert.equal(status.error, 'ERR_RH_CLUSTER_UNKNOWN');
  assert.equal(status.reason, 'NotFound');
  assert.equal(upstream.accepted, 0);
});
