import assert from 'node:assert/strict';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ask, askHttp2, dialHttp2, open } from './support/clients.ts';
import { callersAuthority, openRig } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';

const tokens = ['planted-token,jane,u-1,"dev,ops"', 't-ann,ann,,'];
const everywhere = { clusters: ['*'], apiGroups: ['*'], namespaces: ['*'] };
const authorization = JSON.stringify({
  version: 1,
  rules: [
    { name: 'dev', groups: ['dev'], ...everywhere, verbs: ['*'], resources: ['*'] },
    { name: 'ann-reads', users: ['ann', 'joe'], ...everywhere, verbs: ['get'], resources: ['pods'] },
    {
      name: 'no-secrets',
      effect: 'deny',
      groups: ['*'],
      ...everywhere,
      verbs: ['*'],
      resources: ['secrets'],
    },
  ],
});
const pod = '/clusters/alpha/api/v1/namespaces/web/pods/p';
const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

type Line = Record<string, unknown>;

async function openAudited(t: TestContext, more: Parameters<typeof openRig>[1] = {}) {
  let path = '';
  const rig = await openRig(t, {
    tokens,
    authorization,
    handle: async (exchange) => {
      if (!exchange.request.path.includes('watch'))
        return exchange.respond({ body: 'hello', headers: { 'audit-id': 'up-1' } });
      await exchange.writeHead(200);
    },
    audit: (folder) => {
      path = join(folder, 'audit.log');
      return { log: path };
    },
    ...more,
  });
  /** Once there are so many. */
  const lines = async (count: number): Promise<Line[]> => {
    for (;;) {
      const found = (await readFile(path, 'utf8'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Line);
      if (found.length >= count) return found;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return { rig, lines, path: () => path };
}

const as = ({ gateway }: Rig, token: string, target: string, fields: readonly string[] = []) =>
  ask(gateway.url, target, { fields: ['Authorization', `Bearer ${token}`, ...fields] });

test('a request is one line: who, by which rule, what, how it ended, and the ids by which others know it', async (t) => {
  const { rig, lines } = await openAudited(t);
  const answer = await as(rig, 'planted-token', `${pod}?command=planted-query`, ['traceparent', parent]);
  const [line = {}] = await lines(1);
  const { time, durationMs, id, ...rest } = line;
  assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 10_000);
  assert.equal(typeof durationMs, 'number');
  assert.equal(answer.headers['x-roundhouse-request-id'], id);
  assert.deepEqual(rest, {
    stage: 'ResponseComplete',
    authentication: 'token',
    user: 'jane',
    uid: 'u-1',
    groups: ['dev', 'ops'],
    rule: 'dev',
    cluster: 'alpha',
    method: 'GET',
    verb: 'get',
    apiGroup: '',
    resource: 'pods',
    subresource: '',
    namespace: 'web',
    name: 'p',
    path: '/api/v1/namespaces/web/pods/p',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    code: 200,
    bytesIn: 0,
    bytesOut: 5,
    upstreamAuditId: 'up-1',
  });
});

test('what was refused has its line: by whom, by which rule, with which error; and no secret is in any', async (t) => {
  const { rig, lines, path } = await openAudited(t);
  await as(rig, 'planted-wrong', `${pod}?token=planted-query`);
  await as(rig, 't-ann', '/clusters/nope/api/v1/namespaces/web/configmaps/c');
  await as(rig, 'planted-token', '/clusters/alpha/api/v1/secrets');
  await as(rig, 't-ann', `${pod}/exec?command=planted-query`);
  const found = (await lines(4)).map((line) =>
    ['user', 'rule', 'cluster', 'verb', 'resource', 'code', 'error'].map((name) => line[name]),
  );
  assert.deepEqual(found, [
    ['', '', '', '', undefined, 401, 'ERR_RH_UNAUTHENTICATED'],
    ['ann', '', 'nope', 'get', 'configmaps', 403, 'ERR_RH_FORBIDDEN'],
    ['jane', 'no-secrets', 'alpha', 'list', 'secrets', 403, 'ERR_RH_FORBIDDEN'],
    ['ann', '', 'alpha', 'create', 'pods', 403, 'ERR_RH_FORBIDDEN'],
  ]);
  assert.doesNotMatch(await readFile(path(), 'utf8'), /planted/);
});

test('a stream has a line when it begins and one when it ends, with the same id', async (t) => {
  const { rig, lines } = await openAudited(t);
  const watching = await open(rig.gateway.url, '/clusters/alpha/api/v1/pods?watch=1', {
    fields: ['Authorization', 'Bearer planted-token'],
  });
  const [started] = await lines(1);
  assert.deepEqual(
    [started?.['stage'], started?.['verb'], started?.['code']],
    ['Started', 'watch', undefined],
  );
  watching.destroy();
  const [, ended] = await lines(2);
  assert.equal(ended?.['id'], started?.['id']);
  assert.equal(ended?.['stage'], 'ResponseComplete');
});

test('who acts as somebody is both in the line', async (t) => {
  const { rig, lines } = await openAudited(t);
  await as(rig, 'planted-token', pod, ['Impersonate-User', 'joe', 'Impersonate-Extra-Scopes', 'a']);
  const [line] = await lines(1);
  assert.equal(line?.['user'], 'jane');
  assert.deepEqual(line?.['as'], { user: 'joe', groups: [], extra: { scopes: ['a'] } });
  assert.equal(line?.['rule'], 'ann-reads');
});

test('where lines are required, an audit log that cannot be written refuses requests until it can', async (t) => {
  const { rig } = await openAudited(t, {
    audit: (folder) => ({ log: join(folder, 'audit.log'), required: true }),
  });
  const log = join(rig.folder, 'audit.log');
  assert.equal((await as(rig, 'planted-token', pod)).status, 200);
  // Its name is taken by a folder: rotation cannot open it anew.
  await rm(log);
  await mkdir(log);
  rig.gateway.reopenLogs();
  await rig.waitForLog(({ msg }) => msg === 'the audit log cannot be written');
  const refused = await as(rig, 'planted-token', pod);
  assert.equal(refused.status, 503);
  assert.match(refused.body, /ERR_RH_AUDIT_UNAVAILABLE/);
  assert.equal((await ask(rig.gateway.adminUrl, '/readyz')).status, 500);
  assert.match(
    (await ask(rig.gateway.adminUrl, '/metrics')).body,
    /^roundhouse_gateway_audit_write_errors_total [1-9]/m,
  );
  await rm(log, { recursive: true });
  await rig.waitForLog(({ msg }) => msg === 'the audit log is written again');
  assert.equal((await as(rig, 'planted-token', pod)).status, 200);
});

test('trace context goes on as it came, and what is not valid does not', async (t) => {
  const { rig } = await openAudited(t);
  const state = 'rojo=00f067aa0ba902b7, congo=t61rcWkgMzE';
  const sent = async (...fields: string[]) => {
    await as(rig, 'planted-token', pod, fields);
    const request = rig.upstream.requests.at(-1);
    return [request?.headerValues('traceparent'), request?.headerValues('tracestate')];
  };
  assert.deepEqual(await sent('traceparent', parent, 'tracestate', state), [[parent], [state]]);
  const later = `cc-${parent.slice(3)}-what-the-future-will-be-like`;
  assert.deepEqual(await sent('traceparent', later), [[later], []]);
  for (const bad of [
    [parent.toUpperCase()],
    [parent.replace(/-01$/, '')],
    [`${parent}-more`],
    [`ff${parent.slice(2)}`],
    ['00-00000000000000000000000000000000-b7ad6b7169203331-01'],
    ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01'],
    [parent, parent],
    ['x'],
  ]) {
    const fields = bad.flatMap((value) => ['traceparent', value]);
    assert.deepEqual(await sent(...fields, 'tracestate', state), [[], []], bad.join());
  }
  assert.deepEqual(await sent('tracestate', state), [[], []], 'without a parent it says nothing');
});

test('every answer has the id of its request, over both protocols, failures too', async (t) => {
  const jane = await callersAuthority.issue({ commonName: 'jane', organizations: ['dev'], usage: 'client' });
  const { rig } = await openAudited(t, { tls: true });
  await using session = await dialHttp2(rig.gateway.url, { cert: jane.certPem, key: jane.keyPem });
  const ids = new Set<unknown>();
  for (const target of [pod, '/clusters/nope/api/v1/pods', '/nope']) {
    ids.add((await as(rig, 'planted-token', target)).headers['x-roundhouse-request-id']);
    ids.add((await askHttp2(session, { ':path': target })).headers['x-roundhouse-request-id']);
  }
  assert.equal(ids.size, 6);
  for (const id of ids) assert.match(String(id), /^[0-9a-f]{16}$/);
});
