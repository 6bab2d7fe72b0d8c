import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { ask, open } from './support/clients.ts';
import { adminCertificate, base64, contextFor, openRig } from './support/gateway-rig.ts';

const path = '/clusters/alpha/api/v1/namespaces/web/pods/planted-query-is-not-logged?x=planted-query';

test('W17: the admin listener shows clusters, transports and metrics, with numbers that are right', async (t) => {
  const { gateway, requestLines } = await openRig(t, {
    contexts: (server) => ({
      alpha: contextFor(server, {
        token: 'planted-token',
        'client-certificate-data': base64(adminCertificate.certPem),
        'client-key-data': base64(adminCertificate.keyPem),
      }),
      broken: contextFor(server, { 'auth-provider': { name: 'x' } }),
    }),
    handle: async (exchange) => {
      if (!exchange.request.path.includes('watch')) return exchange.respond({ body: 'hello' });
      await exchange.writeHead(200);
    },
  });
  for (let count = 0; count < 3; count += 1) await ask(gateway.url, path);
  await ask(gateway.url, '/clusters/nope/version');
  const watching = await open(gateway.url, '/clusters/alpha/api/v1/pods?watch=1');

  const clusters = JSON.parse((await ask(gateway.adminUrl, '/debug/clusters')).body);
  assert.equal(clusters.schemaVersion, 1);
  const [alpha, broken] = clusters.clusters;
  assert.equal(alpha.name, 'alpha');
  assert.equal(alpha.path, '/clusters/alpha');
  assert.equal(alpha.state, 'ready');
  assert.equal(alpha.identity, 'gateway');
  assert.equal(alpha.inFlight, 1);
  assert.ok(Date.parse(alpha.certificateExpiresAt) > Date.now());
  assert.equal(broken.state, 'refused');
  assert.equal(broken.lastError.code, 'ERR_RH_CONTEXT_UNSUPPORTED');

  const transports = JSON.parse((await ask(gateway.adminUrl, '/debug/transports')).body);
  assert.equal(transports.schemaVersion, 1);
  assert.equal(transports.transports.length, 1);
  assert.deepEqual(transports.transports[0].identities, ['alpha']);
  assert.equal(transports.transports[0].requestsTotal, 4);
  assert.equal(transports.transports[0].streams, 1);

  const { body: metrics } = await ask(gateway.adminUrl, '/metrics');
  for (const line of [
    'roundhouse_gateway_requests_total{cluster="alpha",verb="get",code="200"} 3',
    'roundhouse_gateway_requests_total{cluster="",verb="get",code="404"} 1',
    'roundhouse_gateway_failures_total{cluster="",error="ERR_RH_CLUSTER_UNKNOWN"} 1',
    'roundhouse_gateway_request_duration_seconds_count{cluster="alpha",verb="get"} 3',
    'roundhouse_gateway_long_running_requests{cluster="alpha",verb="watch"} 1',
    'roundhouse_gateway_requests_in_flight 1',
    'roundhouse_gateway_sent_bytes_total{cluster="alpha"} 15',
    'roundhouse_gateway_cluster_state{cluster="broken",state="refused"} 1',
    'roundhouse_transport_connections{state="active"} 1',
    'roundhouse_transport_requests{kind="stream"} 1',
    'roundhouse_transport_built_total 1',
  ]) {
    assert.ok(metrics.includes(`${line}\n`), `${line} is not in\n${metrics}`);
  }
  assert.match(
    metrics,
    /roundhouse_gateway_certificate_expiry_timestamp_seconds\{cluster="alpha",kind="client"\} \d+/,
  );
  assert.match(metrics, /^process_cpu_seconds_total/m);

  watching.destroy();
  await requestLines(5);
  const after = await ask(gateway.adminUrl, '/metrics');
  assert.ok(
    after.body.includes('roundhouse_gateway_long_running_requests{cluster="alpha",verb="watch"} 0\n'),
  );
  assert.doesNotMatch(metrics, /planted/);
});

test('no secret and no query is in logs, metrics or the admin listener, whatever goes wrong', async (t) => {
  const { gateway, log, replaceKubeconfig, waitForLog, upstream } = await openRig(t, {
    tokens: ['planted-front-token,joe,,'],
    contexts: (server) => ({ alpha: contextFor(server, { token: 'planted-upstream-token' }) }),
    handle: (exchange) => exchange.respond({ status: 401, body: 'planted-upstream-token' }),
  });
  for (const authorization of ['Bearer planted-front-token', 'Bearer planted-wrong-token', 'Basic planted']) {
    await ask(gateway.url, path.replace('planted-query-is-not-logged', 'p'), {
      fields: ['Authorization', authorization, 'Cookie', 'planted=1'],
    });
  }
  await replaceKubeconfig(`users: [{name: u, user: {token: planted-broken-file`);
  await waitForLog(({ level }) => level === 'error');
  await replaceKubeconfig(
    JSON.stringify({
      clusters: [{ name: 'a', cluster: { server: `https://planted:planted@${new URL(upstream.url).host}` } }],
      users: [{ name: 'a', user: { token: 'planted\nplanted', 'client-key-data': base64('planted') } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    }),
  );
  await waitForLog(({ msg }) => msg === 'cluster added' && log.length > 0);
  await waitForLog(({ cluster }) => cluster === 'a');
  const pages = await Promise.all(
    ['/metrics', '/debug/clusters', '/debug/transports'].map((page) => ask(gateway.adminUrl, page)),
  );
  const all = JSON.stringify(log) + pages.map(({ body }) => body).join('');
  assert.doesNotMatch(all, /planted/);
});

test('each request is one line, whatever its end', async (t) => {
  const { gateway, requestLines, log } = await openRig(t, {
    handle: async (exchange) => {
      if (exchange.request.path.includes('watch')) await exchange.writeHead(200);
      else await exchange.respond({ body: 'x' });
    },
  });
  await ask(gateway.url, '/clusters/alpha/version');
  await ask(gateway.url, '/clusters/nope/version');
  await ask(gateway.url, '/clusters/alpha/../x');
  await ask(gateway.url, '/clusters/alpha/version', { fields: ['Host', 'evil.example'] });
  const watching = await open(gateway.url, '/clusters/alpha/api/v1/pods?watch=1');
  watching.destroy();
  await once(watching, 'close');
  const lines = await requestLines(5);
  assert.deepEqual(
    lines.map((line) => [line['cluster'], line['verb'], line['code'], line['error'] ?? '']),
    [
      ['alpha', 'get', 200, ''],
      ['', 'get', 404, 'ERR_RH_CLUSTER_UNKNOWN'],
      ['', '', 400, 'ERR_RH_PATH_AMBIGUOUS'],
      ['', '', 403, 'ERR_RH_FOREIGN_PAGE'],
      ['alpha', 'watch', 499, 'ERR_RH_CLIENT_GONE'],
    ],
  );
  for (const name of [
    'level',
    'time',
    'msg',
    'req',
    'cluster',
    'user',
    'verb',
    'code',
    'durMs',
    'bytesIn',
    'bytesOut',
    'streams',
  ]) {
    assert.ok(name in (lines[0] ?? {}), name);
  }
  assert.equal(new Set(log.filter(({ msg }) => msg === 'request').map(({ req }) => req)).size, 5);
});

test('whatever a client calls itself and asks for, its line is JSON that says just that', async (t) => {
  const user = 'o"brien\\ \u00fc\u2028\u{1f682}';
  const { gateway, requestLines } = await openRig(t, {
    tokens: [`token-of-ann,"${user.replaceAll('"', '""')}",u1`],
    clusterIdentity: { alpha: 'gateway' },
  });
  const odd = "/api/v1/pods/a'b,c:d%22%255Cn";
  const asked = await ask(gateway.url, `/clusters/alpha${odd}`, {
    fields: ['Authorization', 'Bearer token-of-ann'],
  });
  assert.equal(asked.status, 200);
  const [line] = await requestLines(1);
  assert.equal(line?.['user'], user);
  assert.equal(line?.['path'], odd);
  assert.match(String(line?.['req']), /^[0-9a-f]{16}$/);
});
