import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubernetesError, parseKubeconfig } from '../src/index.ts';

function refusal(content: string | Uint8Array): string {
  try {
    parseKubeconfig(content, 'the file');
  } catch (error) {
    assert.ok(error instanceof KubernetesError);
    assert.equal(error.code, 'ERR_RH_KUBECONFIG_INVALID');
    return error.message;
  }
  return assert.fail('it was taken');
}

test('contexts, clusters and users come in the order of the file, unknown fields are let pass', () => {
  const kubeconfig = parseKubeconfig(
    `
apiVersion: v1
kind: Config
current-context: two
preferences: {colors: true}
clusters:
- name: c
  cluster: {server: 'https://a.example:6443', tls-server-name: b.example, future-field: 1}
users:
- name: u
  user: {token: abc}
contexts:
- name: two
  context: {cluster: c, user: u, namespace: web}
- name: one
  context: {cluster: c}
`,
    'the file',
  );
  assert.deepEqual(
    [...kubeconfig.contexts],
    [
      ['two', { cluster: 'c', user: 'u', namespace: 'web' }],
      ['one', { cluster: 'c', user: undefined, namespace: undefined }],
    ],
  );
  assert.equal(kubeconfig.currentContext, 'two');
  assert.equal(kubeconfig.clusters.get('c')?.tlsServerName, 'b.example');
  assert.equal(kubeconfig.users.get('u')?.token, 'abc');
});

test('JSON is read like YAML', () => {
  const text = JSON.stringify({ contexts: [{ name: 'one', context: { cluster: 'c' } }] });
  assert.deepEqual([...parseKubeconfig(text, 'the file').contexts.keys()], ['one']);
});

test('what is no kubeconfig is refused with the place', () => {
  for (const [content, message] of [
    ['', /the file: it is empty/],
    ['# only a comment\n', /it is empty/],
    ['just text', /the document is not a mapping/],
    ['- a list', /the document is not a mapping/],
    ['kind: Pod\nclusters: []', /not a Config/],
    ['apiVersion: v2\nclusters: []', /not a Config of apiVersion v1/],
    ['a: 1', /neither clusters nor contexts nor users/],
    ['clusters: {}', /document.clusters is not a list/],
    ['clusters: [5]', /clusters\[0\] is not a mapping/],
    ['users: [{name: u, user: {token: 123}}]', /users\[0\].user.token is not text/],
    ['clusters: [{name: c, cluster: {insecure-skip-tls-verify: "true"}}]', /neither true nor false/],
    ['clusters:\n- name: [', /line 2/],
    ['clusters: []\nclusters: []', /line 2: duplicate key/],
    ['a: 1\n---\nb: 2', /line 2/],
    [new Uint8Array([0xff, 0xfe, 0]), /not UTF-8/],
  ] as const) {
    assert.match(refusal(content), message);
  }
});

test('a name that is there twice makes the file invalid, as for kubectl', () => {
  assert.match(refusal('clusters: [{name: c}, {name: c}]'), /clusters has two entries of the name "c"/);
});

test('aliases, deep nesting and size are bounded', () => {
  const lol = Array.from({ length: 20 }, (_, index) =>
    index === 0 ? '- &a0 [lol]' : `- &a${index} [*a${index - 1}, *a${index - 1}, *a${index - 1}]`,
  );
  assert.match(refusal(`clusters:\n${lol.join('\n')}`), /aliases/);
  assert.match(refusal('['.repeat(200_000)), /line 1/);
  assert.match(refusal(`{"a":`.repeat(200_000)), /line 1/);
  assert.match(refusal(new Uint8Array(33 * 1024 * 1024)), /larger than/);
});

test('a message never quotes a line, which might be a token', () => {
  for (const content of [
    'users:\n- name: u\n  user:\n    token: "planted-secret\n',
    'users:\n- name: u\n  user:\n    token: @planted-secret\n',
    'users:\n- name: u\n  user: planted-secret\n',
    'users:\n- name: u\n  user:\n  token: planted-secret\n token: planted-secret: x\n',
    '{"users": planted-secret: [}',
  ]) {
    assert.doesNotMatch(refusal(content), /planted/);
  }
});
