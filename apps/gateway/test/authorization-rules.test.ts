import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { YamlProblem } from '@roundhouse/process';
import { actionOf } from '../src/authorization/action.ts';
import { Policy } from '../src/index.ts';
import { parseRequestInfo } from '../src/routing/request-info.ts';
import { parseRequestTarget } from '../src/routing/request-target.ts';

const jane = { user: 'jane', groups: ['dev'] };

function policy(...rules: Record<string, unknown>[]): Policy {
  const named = rules.map((rule, index) => ({ name: `r${index}`, ...rule }));
  return Policy.parse(JSON.stringify({ version: 1, rules: named }));
}

const everything = {
  groups: ['*'],
  clusters: ['*'],
  verbs: ['*'],
  apiGroups: ['*'],
  resources: ['*'],
  namespaces: ['*'],
};
const podsInWeb = {
  groups: ['dev'],
  clusters: ['alpha'],
  verbs: ['get', 'list', 'watch', 'deletecollection'],
  apiGroups: [''],
  resources: ['pods'],
  namespaces: ['web'],
};

/** Who may do what a request of this method and target does. */
function decide(of: Policy, request: string, subject = jane, cluster = 'alpha') {
  const [method = '', text = ''] = request.split(' ');
  const target = parseRequestTarget(text);
  return of.decide(subject, cluster, actionOf({ target, info: parseRequestInfo(method, target) }));
}

function allowed(of: Policy, request: string, subject = jane, cluster = 'alpha'): boolean {
  return decide(of, request, subject, cluster).allowed;
}

test('what no rule allows is forbidden', () => {
  assert.deepEqual(decide(policy(), 'GET /api/v1/pods'), { allowed: false, rule: undefined });
});

test('a rule holds for its users, groups, clusters, verbs, resources, namespaces and no others', () => {
  const rules = policy(podsInWeb);
  const pods = '/api/v1/namespaces/web/pods';
  assert.deepEqual(decide(rules, `GET ${pods}`), { allowed: true, rule: 'r0' });
  for (const yes of [
    `GET ${pods}/p`,
    `HEAD ${pods}/p`,
    `GET ${pods}?watch=1`,
    `GET ${pods}/`,
    `DELETE ${pods}`,
  ]) {
    assert.equal(allowed(rules, yes), true, yes);
  }
  for (const no of [
    `POST ${pods}`,
    `PUT ${pods}/p`,
    `DELETE ${pods}/p`,
    `GET ${pods}/p/log`,
    `GET ${pods}/p/exec`,
    'GET /api/v1/pods',
    'GET /api/v1/namespaces/webb/pods',
    'GET /api/v1/namespaces/web/secrets',
    'GET /apis/metrics.k8s.io/v1/namespaces/web/pods',
    'GET /api/v1/namespaces/web',
    'GET /api',
    'GET /',
  ]) {
    assert.equal(allowed(rules, no), false, no);
  }
  assert.equal(allowed(rules, `GET ${pods}`, { user: 'jane', groups: [] }), false);
  assert.equal(allowed(rules, `GET ${pods}`, { user: 'dev', groups: ['Dev'] }), false);
  assert.equal(allowed(rules, `GET ${pods}`, jane, 'beta'), false);
  assert.equal(allowed(policy({ ...podsInWeb, groups: undefined, users: ['jane'] }), `GET ${pods}`), true);
});

test('an escaped path is decided on as what it is forwarded as', () => {
  const rules = policy({ ...podsInWeb, resourceNames: ['a.b'] });
  assert.equal(allowed(rules, 'GET /api/v1/namespaces/%77eb/%70ods/a%2Eb'), true);
  assert.equal(allowed(rules, 'GET /api/v1/namespaces/w%65c/pods/a.b'), false);
  assert.throws(() => allowed(rules, 'GET /api/v1/namespaces/web%2Fpods/a.b'));
});

test('exec, attach, port-forward and proxy count as create, over any method and in the old form of the path', () => {
  const get = policy({ ...everything, verbs: ['get', 'list', 'watch'] });
  const create = policy({ ...everything, verbs: ['create'] });
  const pod = '/api/v1/namespaces/web/pods/p';
  for (const path of [
    ...['exec', 'attach', 'portforward', 'proxy', 'proxy/x/y'].map((name) => `${pod}/${name}`),
    '/api/v1/nodes/n/proxy/metrics',
    '/api/v1/namespaces/web/services/s:80/proxy/',
    '/api/v1/proxy/namespaces/web/pods/p/x',
  ]) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH']) {
      assert.equal(allowed(get, `${method} ${path}`), false, path);
      assert.equal(allowed(create, `${method} ${path}`), true, path);
    }
  }
  assert.equal(allowed(get, `GET ${pod}/log`), true);
  const subresource = policy({ ...everything, resources: ['pods/proxy'], verbs: ['create'] });
  assert.equal(allowed(subresource, 'GET /api/v1/proxy/namespaces/web/pods/p/x'), true);
});

test('subresources are named: pods/log, pods/*, */scale; a resource alone has none of them', () => {
  const asks = ['pods/p', 'pods/p/log', 'pods/p/status', 'replicationcontrollers/r/scale'];
  const answers = (...resources: string[]) =>
    asks.map((ask) => allowed(policy({ ...everything, resources }), `GET /api/v1/namespaces/web/${ask}`));
  assert.deepEqual(answers('pods'), [true, false, false, false]);
  assert.deepEqual(answers('pods/log'), [false, true, false, false]);
  assert.deepEqual(answers('pods/*'), [false, true, true, false]);
  assert.deepEqual(answers('*/scale'), [false, false, false, true]);
  assert.deepEqual(answers('*'), [true, true, true, true]);
});

test('names limit to objects: a list only with the field selector that kubectl sends, a create not at all', () => {
  const rules = policy({ ...everything, resources: ['configmaps'], resourceNames: ['a'] });
  const maps = '/api/v1/namespaces/web/configmaps';
  for (const yes of [
    `GET ${maps}/a`,
    `GET ${maps}?fieldSelector=metadata.name%3Da`,
    `GET ${maps}?fieldSelector=metadata.name==a&watch=true`,
    `GET ${maps}?fieldSelector=metadata.namespace%3Dweb,metadata.name%3Da`,
  ]) {
    assert.equal(allowed(rules, yes), true, yes);
  }
  for (const no of [
    `GET ${maps}/b`,
    `GET ${maps}`,
    `POST ${maps}`,
    `DELETE ${maps}?fieldSelector=metadata.name%3Da`,
    `GET ${maps}?fieldSelector=metadata.name!%3Da`,
    `GET ${maps}?fieldSelector=metadata.name%3Da,metadata.name%3Db`,
    `GET ${maps}?fieldSelector=metadata.name%3Da&fieldSelector=`,
    `GET ${maps}?fieldSelector=metadata.name%3Da%5C,b`,
    `GET ${maps}?fieldSelector=metadata.name%3D`,
    `GET /api/v1/watch/namespaces/web/configmaps?fieldSelector=metadata.name%3Da`,
  ]) {
    assert.equal(allowed(rules, no), false, no);
  }
});

test('paths are whole, or begin with what is in front of a star', () => {
  const rules = policy({
    users: ['jane'],
    clusters: ['*'],
    verbs: ['get'],
    nonResourceURLs: ['/version', '/apis/*', '/api'],
  });
  for (const yes of ['/version', '/apis/', '/apis/apps/v1', '/api', '/api?timeout=32s']) {
    assert.equal(allowed(rules, `GET ${yes}`), true, yes);
  }
  for (const no of ['/versions', '/version/', '/apis', '/api/', '/api/v1', '/', '/metrics', '/api/v1/pods']) {
    assert.equal(allowed(rules, `GET ${no}`), false, no);
  }
  assert.equal(allowed(rules, 'POST /version'), false);
});

test('a rule that denies wins, and reaches every request that may touch what it names', () => {
  const rules = policy(
    everything,
    {
      ...everything,
      name: 'no-secrets',
      effect: 'deny',
      resources: ['secrets'],
      namespaces: ['kube-system'],
    },
    {
      ...everything,
      name: 'keep-a',
      effect: 'deny',
      resources: ['configmaps'],
      resourceNames: ['a'],
      verbs: ['delete', 'deletecollection'],
    },
  );
  assert.deepEqual(decide(rules, 'GET /api/v1/namespaces/kube-system/secrets/s'), {
    allowed: false,
    rule: 'no-secrets',
  });
  assert.equal(allowed(rules, 'GET /api/v1/secrets'), false, 'over all namespaces');
  assert.equal(allowed(rules, 'GET /api/v1/secrets?watch=1'), false);
  assert.equal(allowed(rules, 'GET /api/v1/namespaces/web/secrets'), true);
  assert.equal(allowed(rules, 'DELETE /api/v1/namespaces/web/configmaps'), false, 'of all names');
  assert.equal(allowed(rules, 'DELETE /api/v1/namespaces/web/configmaps/b'), true);
  assert.equal(allowed(rules, 'DELETE /api/v1/namespaces/web/configmaps/a'), false);
});

test('a read-only cluster is two rules', () => {
  const rules = policy(everything, {
    ...everything,
    name: 'beta-is-read-only',
    effect: 'deny',
    clusters: ['beta'],
    verbs: ['create', 'update', 'patch', 'delete', 'deletecollection', 'impersonate'],
  });
  const pod = '/api/v1/namespaces/web/pods/p';
  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
    assert.equal(allowed(rules, `${method} ${pod}`), true);
    assert.equal(allowed(rules, `${method} ${pod}`, jane, 'beta'), method === 'GET');
  }
  assert.equal(allowed(rules, `GET ${pod}/exec`, jane, 'beta'), false);
});

test('a method that nobody knows is no verb, and only a star has it', () => {
  assert.equal(allowed(policy({ ...everything, verbs: ['get'] }), 'BREW /api/v1/pods'), false);
  assert.equal(allowed(policy(everything), 'BREW /api/v1/pods'), true);
});

test('what could not hold as it is written is refused with its line, and nothing half-loads', () => {
  for (const [change, words] of [
    [{ users: undefined, groups: undefined }, /speaks of nobody/],
    [{ users: [] }, /users/],
    [{ groups: ['dev-*'] }, /a star stands alone/],
    [{ clusters: ['prod*'] }, /a star stands alone/],
    [{ clusters: undefined }, /clusters/],
    [{ verbs: ['gett'] }, /verbs\[0\]/],
    [{ verbs: ['post'] }, /post is no verb of resources/],
    [{ resources: ['Pods'] }, /not a resource/],
    [{ resources: ['po*'] }, /not a resource/],
    [{ resources: undefined }, /either resources or nonResourceURLs/],
    [{ nonResourceURLs: ['/x'] }, /either resources or nonResourceURLs/],
    [{ namespaces: undefined }, /namespaces: say which/],
    [{ apiGroups: undefined }, /apiGroups: say which/],
    [{ namespace: ['web'] }, /unknown key rules\[0\]\.namespace; did you mean namespaces\?/],
    [{ effect: 'Deny' }, /effect/],
    [{ name: 'two words' }, /name/],
    [
      { resources: undefined, apiGroups: undefined, nonResourceURLs: ['version'], verbs: ['get'] },
      /not a path/,
    ],
    [{ resources: undefined, apiGroups: undefined, nonResourceURLs: ['/*/x'], verbs: ['get'] }, /not a path/],
  ] as const) {
    assert.throws(
      () => policy({ ...podsInWeb, ...change }),
      (error) =>
        error instanceof YamlProblem && /^line \d+: /.test(error.message) && words.test(error.message),
      JSON.stringify(change),
    );
  }
  assert.throws(
    () => policy({ ...podsInWeb, name: 'x' }, { ...podsInWeb, name: 'x' }),
    /another rule has this name/,
  );
  for (const text of [
    '',
    'version: 2\nrules: []',
    'version: 1',
    'rules: []',
    'version: 1\nrules: []\nrule: 1',
  ]) {
    assert.throws(() => Policy.parse(text), YamlProblem, text);
  }
});

test('fuzz: a file is read or refused, and what was read allows nothing to who is not named in it', () => {
  const word = fc.constantFrom(
    '*',
    'dev',
    'alpha',
    'pods',
    'get',
    '',
    '/x',
    'pods/log',
    'web',
    'impersonate',
  );
  const list = fc.option(fc.array(fc.oneof(word, fc.string()), { maxLength: 3 }), { nil: undefined });
  const rule = fc.record({
    name: fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.string()),
    effect: fc.constantFrom('allow', 'deny', undefined, 'x'),
    groups: list,
    clusters: list,
    verbs: list,
    apiGroups: list,
    resources: list,
    namespaces: list,
    resourceNames: list,
    nonResourceURLs: list,
  });
  const file = fc.record({ version: fc.constant(1), rules: fc.array(rule, { maxLength: 4 }) });
  let read = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        file.map((value) => JSON.stringify(value)),
        fc.string(),
        fc.json(),
      ),
      (text) => {
        let loaded: Policy;
        try {
          loaded = Policy.parse(text);
        } catch (error) {
          assert.ok(error instanceof YamlProblem);
          return;
        }
        read += 1;
        const stranger = { user: 'nobody-of-the-file', groups: ['no-group-of-the-file'] };
        const { allowed: may, rule: by } = loaded.decide(
          stranger,
          'alpha',
          actionOf({
            target: parseRequestTarget('/api/v1/pods'),
            info: parseRequestInfo('GET', parseRequestTarget('/api/v1/pods')),
          }),
        );
        const star = loaded.rules.find(({ name }) => name === by)?.fields.groups?.includes('*') ?? false;
        assert.equal(may && !star, false);
      },
    ),
    { seed: 20_261_201, numRuns: 1_000 },
  );
  assert.ok(read > 0);
});
