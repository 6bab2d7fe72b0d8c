/** Callers who act as somebody else, where the authorisation file lets them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../src/index.ts';
import { impersonationWish } from '../src/identity/impersonation-wish.ts';
import { ask, askHttp2, codeOf, dialHttp2, sendRawGet, statusIn } from './support/clients.ts';
import { callersAuthority, contextFor, openRig } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';

const jane = await callersAuthority.issue({
  commonName: 'jane',
  organizations: ['support'],
  usage: 'client',
});
const tokens = ['t-jane,jane,uid-of-jane,support', 't-ann,ann,,'];
const pods = '/api/v1/namespaces/web/pods';
const act = { clusters: ['alpha', 'gw'], verbs: ['impersonate'], namespaces: ['*'] };
const authentication = { ...act, apiGroups: ['authentication.k8s.io'] };
const authorization = JSON.stringify({
  version: 1,
  rules: [
    {
      name: 'support-acts',
      groups: ['support'],
      ...act,
      apiGroups: [''],
      resources: ['users', 'groups'],
      resourceNames: ['joe', 'dev', 'ops', 'gr\u00fcn'],
    },
    { name: 'uids', groups: ['support'], ...authentication, resources: ['uids'], resourceNames: ['u-1'] },
    {
      name: 'extras',
      groups: ['support'],
      ...authentication,
      resources: ['userextras/scopes', 'userextras/example.com/team'],
      resourceNames: ['a', 'b'],
    },
    {
      name: 'accounts',
      groups: ['support'],
      ...act,
      namespaces: ['web'],
      apiGroups: [''],
      resources: ['serviceaccounts'],
    },
    {
      name: 'joe-reads',
      users: ['joe', 'ann', 'system:serviceaccount:web:robot'],
      clusters: ['*'],
      verbs: ['list', 'watch'],
      apiGroups: [''],
      resources: ['pods'],
      namespaces: ['web'],
    },
  ],
});

const open = (t: TestContext, more: Parameters<typeof openRig>[1] = {}): Promise<Rig> =>
  openRig(t, { tokens, authorization, ...more });

function askAs(rig: Rig, fields: readonly string[], { token = 't-jane', path = pods } = {}) {
  return ask(rig.gateway.url, `/clusters/alpha${path}`, {
    fields: ['Authorization', `Bearer ${token}`, ...fields],
  });
}

/** Every field with the look of an identity, as the cluster got it. */
function identityOf({ upstream }: Rig): string[] {
  const { rawHeaders = [] } = upstream.requests.at(-1) ?? {};
  return rawHeaders.flatMap((name, index) =>
    index % 2 === 0 && /^(?:impersonate|x[-_]remote)/i.test(name)
      ? [`${name}: ${rawHeaders[index + 1]}`]
      : [],
  );
}

test("BB-63: who may act as somebody is forwarded as that one, in our own fields and with nothing of the caller's", async (t) => {
  const rig = await open(t);
  const fields = [
    ['impersonate-group', 'dev'],
    ['IMPERSONATE-USER', 'joe'],
    ['Impersonate-Group', 'ops'],
    ['impersonate-uid', 'u-1'],
    ['Impersonate-Extra-Scopes', 'a'],
    ['impersonate-extra-example.com%2fteam', 'b'],
    ['Impersonate-Extra-scopes', 'b'],
    ['X-Remote-User', 'root'],
    ['Impersonate-Group', Buffer.from('gr\u00fcn').toString('latin1')],
  ];
  const { status, body } = await askAs(rig, fields.flat());
  assert.equal(status, 200, body);
  assert.deepEqual(identityOf(rig), [
    'Impersonate-User: joe',
    'Impersonate-Uid: u-1',
    'Impersonate-Group: dev',
    'Impersonate-Group: ops',
    `Impersonate-Group: ${Buffer.from('gr\u00fcn').toString('latin1')}`,
    'Impersonate-Extra-scopes: a',
    'Impersonate-Extra-scopes: b',
    'Impersonate-Extra-example.com%2Fteam: b',
  ]);
  assert.deepEqual(rig.upstream.requests.at(-1)?.headerValues('authorization'), ['Bearer gateway-token']);
  assert.equal((await askAs(rig, ['Impersonate-User', 'system:serviceaccount:web:robot'])).status, 200);
  assert.deepEqual(identityOf(rig), ['Impersonate-User: system:serviceaccount:web:robot']);
});

test('BB-63: each of user, group, uid and extra is asked for, and one that is not allowed refuses all', async (t) => {
  const rig = await open(t);
  const joe = ['Impersonate-User', 'joe'];
  for (const [fields, resource, name] of [
    [['Impersonate-User', 'root'], 'users', 'root'],
    [[...joe, 'Impersonate-Group', 'dev', 'Impersonate-Group', 'system:masters'], 'groups', 'system:masters'],
    [[...joe, 'Impersonate-Uid', 'u-2'], 'uids', 'u-2'],
    [[...joe, 'Impersonate-Extra-Scopes', 'a', 'Impersonate-Extra-Scopes', 'c'], 'userextras/scopes', 'c'],
    [[...joe, 'Impersonate-Extra-Other', 'a'], 'userextras/other', 'a'],
    [['Impersonate-User', 'system:serviceaccount:kube-system:robot'], 'serviceaccounts', 'robot'],
  ] as const) {
    const { status, body } = await askAs(rig, fields);
    assert.equal(status, 403, fields.join());
    const { message, error } = statusIn(body);
    assert.equal(error, 'ERR_RH_FORBIDDEN');
    assert.ok(message.includes(`User "jane" cannot impersonate resource "${resource}"`), message);
    assert.ok(message.includes(`"${name}" is forbidden`), message);
  }
  assert.equal((await askAs(rig, joe, { token: 't-ann' })).status, 403, 'not everybody may');
  assert.equal(rig.upstream.accepted, 0);
});

test('what is asked is decided for whom the caller acts as, and not for the caller', async (t) => {
  const rig = await open(t);
  const joe = ['Impersonate-User', 'joe'];
  assert.equal((await askAs(rig, [])).status, 403, 'jane herself may list nothing');
  assert.equal((await askAs(rig, joe)).status, 200);
  const { status, body } = await askAs(rig, joe, { path: '/api/v1/namespaces/web/secrets' });
  assert.equal(status, 403);
  assert.match(statusIn(body).message, /User "joe" cannot list resource "secrets"/);
});

test('BB-63: fields that could be read in two ways are refused, whoever sends them', async (t) => {
  const rig = await open(t);
  const joe = ['Impersonate-User', 'joe'];
  for (const [fields, status] of [
    [[...joe, ...joe], 400],
    [[...joe, 'Impersonate-Uid', 'u-1', 'Impersonate-Uid', 'u-1'], 400],
    [['Impersonate-Group', 'dev'], 400],
    [['Impersonate-Uid', 'u-1'], 400],
    [['Impersonate-Extra-Scopes', 'a'], 400],
    [['Impersonate-User', ''], 400],
    [['Impersonate-User', '\u00ff\u00fe'], 400],
    [[...joe, 'Impersonate-Extra-%zz', 'a'], 400],
    [[...joe, 'impersonate_group', 'dev'], 403],
    [['Impersonate_User', 'joe'], 403],
    [[...joe, 'Impersonate-Groups', 'dev'], 403],
    [[...joe, 'Impersonate-Extra-', 'a'], 403],
  ] as const) {
    assert.equal((await askAs(rig, fields)).status, status, fields.join());
  }
  assert.equal(rig.upstream.accepted, 0);
});

test('BB-62: Connection cannot take away the fields of whom the caller acts as', async (t) => {
  const rig = await open(t);
  for (const path of [pods, `${pods}?watch=1`]) {
    for (const name of [
      'Impersonate-User',
      'Impersonate-Group',
      'Impersonate-Uid',
      'Impersonate-Extra-Scopes',
    ]) {
      const raw = await sendRawGet(
        rig.gateway.url,
        `/clusters/alpha${path}`,
        'Authorization: Bearer t-jane',
        'Impersonate-User: joe',
        'Impersonate-Extra-Scopes: a',
        `Connection: close, ${name}`,
      );
      assert.equal(codeOf(raw), 400, name);
    }
  }
  assert.equal(rig.upstream.accepted, 0);
});

test('over HTTP/2 the same holds, for callers by certificate', async (t) => {
  const rig = await open(t, { tls: true });
  await using session = await dialHttp2(rig.gateway.url, { cert: jane.certPem, key: jane.keyPem });
  const get = (fields: Record<string, string | string[]>) =>
    askHttp2(session, { ':path': `/clusters/alpha${pods}`, ...fields });
  assert.equal((await get({ 'impersonate-user': 'joe', 'impersonate-group': ['dev', 'ops'] })).status, 200);
  assert.deepEqual(identityOf(rig), [
    'Impersonate-User: joe',
    'Impersonate-Group: dev',
    'Impersonate-Group: ops',
  ]);
  assert.equal((await get({ 'impersonate-user': 'root' })).status, 403);
});

test('a cluster that is not told who is calling is not told that it is somebody else', async (t) => {
  for (const mode of ['gateway', 'passthrough'] as const) {
    const rig = await open(t, { clusterIdentity: { alpha: mode } });
    const { status, body } = await askAs(rig, ['Impersonate-User', 'joe']);
    assert.equal(status, 403);
    assert.equal(statusIn(body).error, 'ERR_RH_IDENTITY_FIELD_REFUSED');
    assert.equal(rig.upstream.accepted, 0);
  }
});

test('who has no right on a cluster does not learn by acting as somebody whether it is there', async (t) => {
  const rig = await open(t, {
    contexts: (server) => ({ alpha: contextFor(server), hidden: contextFor(server) }),
  });
  const answers = await Promise.all(
    ['hidden', 'nope'].map(async (cluster) => {
      const { status, body } = await ask(rig.gateway.url, `/clusters/${cluster}${pods}`, {
        fields: ['Authorization', 'Bearer t-jane', 'Impersonate-User', 'joe'],
      });
      return [status, body.replaceAll(cluster, 'CLUSTER')];
    }),
  );
  assert.equal(answers[0]?.[0], 403);
  assert.deepEqual(answers[0], answers[1]);
});

test('BB-65: fields of a front proxy are believed from nobody, neither by token nor by certificate of the client CA', async (t) => {
  const allowed = JSON.stringify({
    version: 1,
    rules: [
      {
        name: 'jane',
        users: ['jane'],
        clusters: ['*'],
        verbs: ['*'],
        apiGroups: ['*'],
        resources: ['*'],
        namespaces: ['*'],
      },
    ],
  });
  const rig = await openRig(t, { tls: true, tokens, authorization: allowed });
  const fields = [
    'X-Remote-User',
    'jane',
    'X-Remote-Group',
    'system:masters',
    'X_Remote_User',
    'jane',
    'X-Remote-Extra-Scopes',
    'all',
  ];
  const credentials = { cert: jane.certPem, key: jane.keyPem };
  const asJane = ['Impersonate-User: jane', 'Impersonate-Group: support'];
  for (const url of [`/clusters/alpha${pods}`, `/clusters/alpha${pods}?watch=1`]) {
    assert.equal((await ask(rig.gateway.url, url, { fields })).status, 401);
    const ann = await ask(rig.gateway.url, url, { fields: ['Authorization', 'Bearer t-ann', ...fields] });
    assert.equal(ann.status, 403, 'ann is not jane');
    assert.equal((await ask(rig.gateway.url, url, { fields, ...credentials })).status, 200);
    assert.deepEqual(identityOf(rig), asJane);
  }
  await using nobody = await dialHttp2(rig.gateway.url);
  await using known = await dialHttp2(rig.gateway.url, credentials);
  const overHttp2: Record<string, string> = { ':path': `/clusters/alpha${pods}` };
  for (let index = 0; index < fields.length; index += 2) {
    overHttp2[(fields[index] ?? '').toLowerCase()] = fields[index + 1] ?? '';
  }
  assert.equal((await askHttp2(nobody, overHttp2)).status, 401);
  assert.equal((await askHttp2(nobody, { ...overHttp2, authorization: 'Bearer t-ann' })).status, 403);
  assert.equal((await askHttp2(known, overHttp2)).status, 200);
  assert.deepEqual(identityOf(rig), asJane);
});

test('fuzz: a wish is read or refused, and what is read says all that was asked for', () => {
  const name = fc.constantFrom(
    'Impersonate-User',
    'impersonate-group',
    'IMPERSONATE-UID',
    'Impersonate-Extra-a',
    'Impersonate-Extra-%41',
    'impersonate_user',
    'Impersonate-',
    'X-Other',
  );
  const value = fc.oneof(fc.constantFrom('joe', '', ' ', '\u00c3\u00bc', '\u00ff'), fc.string());
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), (pairs) => {
      const asked = pairs.filter(([field]) => /^impersonate/i.test(field));
      try {
        const wish = impersonationWish(pairs.flat());
        const said =
          wish === undefined
            ? 0
            : 1 +
              (wish.uid === undefined ? 0 : 1) +
              wish.groups.length +
              [...wish.extra.values()].flat().length;
        assert.equal(said, asked.length);
      } catch (error) {
        assert.ok(error instanceof GatewayError && error.httpStatus < 500, String(error));
      }
    }),
    { seed: 20_261_201, numRuns: 1_000 },
  );
});
