import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessError } from '@roundhouse/process';
import { ask, statusIn } from './support/clients.ts';
import { contextFor, openRig, replaced } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';

const tokens = ['t-jane,jane,,dev', 't-root,root,,', 't-none,nobody,,'];
const pods = '/api/v1/namespaces/web/pods';

const rules = `
version: 1
rules:
  - name: dev-reads
    groups: [dev]
    clusters: [alpha, ghost]
    verbs: [get, list, watch]
    apiGroups: ['', apps]
    resources: [pods, deployments]
    namespaces: [web]
  - name: discovery
    users: [jane]
    clusters: [alpha]
    verbs: [get]
    nonResourceURLs: [/version, /api, /apis/*]
  - name: root
    users: [root]
    clusters: ['*']
    verbs: ['*']
    apiGroups: ['*']
    resources: ['*']
    namespaces: ['*']
`;

function openWithRules(t: Parameters<typeof openRig>[0], text = rules): Promise<Rig> {
  return openRig(t, {
    tokens,
    authorization: text,
    contexts: (server) => ({ alpha: contextFor(server), 'team/beta': contextFor(server) }),
  });
}

const as = (token: string, more: { method?: string } = {}) => ({
  fields: ['Authorization', `Bearer ${token}`],
  ...more,
});

test('with a file only what a rule allows is forwarded, and a 403 is in the words of the kube-apiserver', async (t) => {
  const { gateway, upstream } = await openWithRules(t);
  for (const path of [
    pods,
    `${pods}/p`,
    '/version',
    '/apis/apps/v1',
    '/apis/apps/v1/namespaces/web/deployments/d',
  ]) {
    assert.equal((await ask(gateway.url, `/clusters/alpha${path}`, as('t-jane'))).status, 200, path);
  }
  const { length } = upstream.requests;
  for (const [path, method, message] of [
    [
      pods,
      'DELETE',
      'pods is forbidden: User "jane" cannot deletecollection resource "pods" in API group "" in the namespace "web" on cluster "alpha"',
    ],
    [
      '/api/v1/pods',
      'GET',
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope on cluster "alpha"',
    ],
    [
      `${pods}/p/log`,
      'GET',
      'pods "p" is forbidden: User "jane" cannot get resource "pods/log" in API group "" in the namespace "web" on cluster "alpha"',
    ],
    [
      `${pods}/p/exec?command=x`,
      'GET',
      'pods "p" is forbidden: User "jane" cannot create resource "pods/exec" in API group "" in the namespace "web" on cluster "alpha"',
    ],
    [
      '/apis/apps/v1/namespaces/web/deployments/d',
      'PUT',
      'deployments.apps "d" is forbidden: User "jane" cannot update resource "deployments" in API group "apps" in the namespace "web" on cluster "alpha"',
    ],
    ['/metrics', 'GET', 'forbidden: User "jane" cannot get path "/metrics" on cluster "alpha"'],
  ] as const) {
    const { status, body } = await ask(gateway.url, `/clusters/alpha${path}`, as('t-jane', { method }));
    assert.equal(status, 403, path);
    const { message: said, reason, error } = statusIn(body);
    assert.deepEqual(
      { said, reason, error },
      { said: message, reason: 'Forbidden', error: 'ERR_RH_FORBIDDEN' },
    );
  }
  const { details } = JSON.parse((await ask(gateway.url, `/clusters/alpha${pods}/p/log`, as('t-jane'))).body);
  assert.equal(details.kind, 'pods');
  assert.equal(details.name, 'p');
  assert.equal(upstream.requests.length, length, 'the cluster heard nothing of what was refused');
});

test('who has no right on a cluster does not learn whether it is there', async (t) => {
  const { gateway } = await openWithRules(t);
  const body = async (cluster: string, token: string) => {
    const answer = await ask(gateway.url, `/clusters/${cluster}${pods}`, as(token));
    return [answer.status, answer.body.replaceAll(cluster, 'CLUSTER')];
  };
  assert.deepEqual(await body('alpha', 't-none'), await body('nope', 't-none'));
  assert.equal((await body('alpha', 't-none'))[0], 403);
  assert.equal((await body('nope', 't-jane'))[0], 403);
  // Whom a rule allows it on a cluster of that name is told that there is none.
  assert.equal((await body('ghost', 't-jane'))[0], 404);
  assert.equal((await body('nope', 't-root'))[0], 404);
});

test('rules speak of a cluster by its own name, whatever name it is asked by', async (t) => {
  const { gateway } = await openWithRules(t, rules.replace('[alpha, ghost]', '["team/beta"]'));
  const pathName = gateway.clusters.find(({ name }) => name === 'team/beta')?.pathName ?? '';
  for (const asked of [pathName, 'team%2Fbeta']) {
    assert.equal((await ask(gateway.url, `/clusters/${asked}${pods}`, as('t-jane'))).status, 200, asked);
  }
  const { status, body } = await ask(gateway.url, `/clusters/${pathName}/api/v1/pods`, as('t-jane'));
  assert.equal(status, 403);
  assert.ok(statusIn(body).message.endsWith(`on cluster "${pathName}"`), body);
});

test('the file is followed live, and one that is wrong leaves the last good in use', async (t) => {
  const rig = await openWithRules(t);
  const get = async () => (await ask(rig.gateway.url, `/clusters/alpha${pods}`, as('t-jane'))).status;
  const file = `${rig.folder}/rules.yaml`;
  assert.equal(await get(), 200);
  await replaced(file, rules.replace('namespaces: [web]', 'namespace: [web]'));
  const told = await rig.waitForLog(({ msg }) => String(msg).startsWith('authorisation file unusable'));
  assert.match(
    String(told['reason']),
    /line 10: unknown key rules\[0\]\.namespace; did you mean namespaces\?/,
  );
  assert.equal(await get(), 200);
  const { sources } = JSON.parse((await ask(rig.gateway.adminUrl, '/debug/clusters')).body);
  assert.equal(sources.find(({ path }: { path: string }) => path === file).state, 'stale');
  const started = performance.now();
  await replaced(file, 'version: 1\nrules: []\n');
  await rig.waitForLog(({ msg }) => msg === 'authorisation file read');
  assert.ok(performance.now() - started < 2_000);
  assert.equal(await get(), 403);
});

test('a file that is wrong at the start is an error with its lines', async (t) => {
  await assert.rejects(openWithRules(t, 'version: 1\nrules:\n  - name: x\n'), (error) => {
    assert.ok(error instanceof ProcessError);
    assert.equal(error.code, 'ERR_RH_FILE_UNUSABLE');
    assert.match(error.message, /rules\.yaml: line 3: rules\[0\]\.clusters/);
    return true;
  });
  await assert.rejects(openRig(t, { authorization: rules }), /rules need to know who is calling/);
});

test('the admin listener explains a decision and names the rule', async (t) => {
  const { gateway } = await openWithRules(t);
  const explain = async (query: string) =>
    JSON.parse((await ask(gateway.adminUrl, `/debug/authorization?${query}`)).body);
  const yes = await explain('user=jane&group=dev&cluster=alpha&verb=list&resource=pods&namespace=web');
  assert.deepEqual([yes.allowed, yes.rule], [true, 'dev-reads']);
  const no = await explain('user=jane&cluster=alpha&verb=list&resource=pods&namespace=web');
  assert.deepEqual([no.allowed, no.rule], [false, null]);
  assert.match(no.reason, /none of the 1 rules/);
  const { rules: listed } = await explain('user=jane&group=dev&list');
  assert.deepEqual(
    listed.map(({ name }: { name: string }) => name),
    ['dev-reads', 'discovery'],
  );
});
