import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificateAuthority } from '@roundhouse/simulators';
import { loadKubeconfig } from '../../src/index.ts';
import type { ExecPlugin, ExecPolicy, KubernetesError } from '../../src/index.ts';

const authority = await CertificateAuthority.create();
const ca = Buffer.from(authority.certificatePem).toString('base64');
const v1 = 'client.authentication.k8s.io/v1';
const exec = { apiVersion: v1, command: 'aws', interactiveMode: 'Never' };

type Fields = Readonly<Record<string, unknown>>;

/** The context `c` with that exec, in /etc/rh/config. */
async function resolved(
  execFields: unknown,
  { cluster = {}, policy, user = {} }: { cluster?: Fields; policy?: ExecPolicy; user?: Fields } = {},
) {
  const config = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://a.example:6443', ...cluster } }],
    users: [{ name: 'u', user: { exec: execFields, ...user } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  });
  const contexts = await loadKubeconfig('/etc/rh/config', async () => Buffer.from(config), {
    execPolicy: policy ?? { policy: 'AllowAll' },
  });
  const found = contexts.get('c');
  assert.ok(found !== undefined);
  return found;
}

async function plugin(...given: Parameters<typeof resolved>): Promise<ExecPlugin> {
  const found = await resolved(...given);
  assert.ok(!('refusal' in found), 'refusal' in found ? found.refusal.message : '');
  assert.equal(found.credential.kind, 'exec');
  return found.credential.plugin;
}

async function refusal(...given: Parameters<typeof resolved>): Promise<KubernetesError> {
  const found = await resolved(...given);
  assert.ok('refusal' in found, 'it was taken');
  return found.refusal;
}

test('a plugin comes out ready to be run: command, arguments, environment, version', async () => {
  const found = await plugin({
    ...exec,
    args: ['eks', 'get-token'],
    env: [{ name: 'AWS_PROFILE', value: 'p' }, { name: 'EMPTY' }],
  });
  assert.equal(found.command, 'aws');
  assert.deepEqual(found.args, ['eks', 'get-token']);
  assert.deepEqual(found.env, [
    { name: 'AWS_PROFILE', value: 'p' },
    { name: 'EMPTY', value: '' },
  ]);
  assert.equal(found.apiVersion, v1);
});

test('a command with a slash is relative to the folder of the kubeconfig, a bare name is looked for on PATH', async () => {
  for (const [command, wanted] of [
    ['./bin/plugin', '/etc/rh/bin/plugin'],
    ['bin/plugin', '/etc/rh/bin/plugin'],
    ['../plugin', '/etc/plugin'],
    ['/opt/plugin', '/opt/plugin'],
    ['plugin', 'plugin'],
  ] as const) {
    assert.equal((await plugin({ ...exec, command })).command, wanted);
  }
});

test('KUBERNETES_EXEC_INFO is what client-go writes: the cluster only where it is asked for, never interactive', async () => {
  const cluster = {
    'tls-server-name': 'b.example',
    'certificate-authority-data': ca,
    'proxy-url': 'http://proxy.example:3128',
    'disable-compression': true,
    extensions: [
      { name: 'other', extension: 5 },
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'x', list: [1, null] } },
    ],
  };
  assert.equal(
    (await plugin(exec, { cluster })).info,
    `{"kind":"ExecCredential","apiVersion":"${v1}","spec":{"interactive":false}}`,
  );
  const caData = Buffer.from(authority.certificatePem).toString('base64');
  assert.equal(
    (await plugin({ ...exec, provideClusterInfo: true }, { cluster })).info,
    `{"kind":"ExecCredential","apiVersion":"${v1}","spec":{"cluster":{"server":"https://a.example:6443","tls-server-name":"b.example","certificate-authority-data":"${caData}","proxy-url":"http://proxy.example:3128","disable-compression":true,"config":{"audience":"x","list":[1,null]}},"interactive":false}}`,
  );
  assert.equal(
    (await plugin({ ...exec, provideClusterInfo: true }, { cluster: { 'insecure-skip-tls-verify': true } }))
      .info,
    `{"kind":"ExecCredential","apiVersion":"${v1}","spec":{"cluster":{"server":"https://a.example:6443","insecure-skip-tls-verify":true,"config":null},"interactive":false}}`,
  );
});

test('a plugin that needs a terminal is refused, and one that may do without is run without', async () => {
  const always = await refusal({ ...exec, interactiveMode: 'Always' });
  assert.equal(always.code, 'ERR_RH_CONTEXT_UNSUPPORTED');
  assert.match(always.message, /needs a terminal/);
  await plugin({ ...exec, interactiveMode: 'IfAvailable' });
  const { interactiveMode: _, ...silent } = exec;
  assert.match((await refusal(silent)).message, /has no interactiveMode/);
  await plugin({ ...silent, apiVersion: 'client.authentication.k8s.io/v1beta1' });
  assert.match((await refusal({ ...exec, interactiveMode: 'Sometimes' })).message, /none of Never/);
});

test('what cannot be run is refused with the reason, and without what it quotes', async () => {
  for (const [fields, words] of [
    [{ ...exec, command: '' }, /has no command/],
    [{ ...exec, apiVersion: 'client.authentication.k8s.io/v1alpha1' }, /apiVersion of its exec is none of/],
    [{ ...exec, apiVersion: undefined }, /apiVersion of its exec is none of/],
    [{ ...exec, env: [{ name: 'A=B', value: 'planted-secret' }] }, /variable that cannot be one/],
    [{ ...exec, env: [{ name: '', value: 'planted-secret' }] }, /variable that cannot be one/],
    [{ ...exec, env: [{ name: 'A', value: 'planted-secret\0' }] }, /variable that cannot be one/],
    [{ ...exec, args: ['planted-secret\0'] }, /zero byte/],
  ] as const) {
    const { code, message } = await refusal(fields);
    assert.equal(code, 'ERR_RH_CONTEXT_UNUSABLE');
    assert.match(message, words);
    assert.ok(!message.includes('planted-secret'));
  }
});

test('without a decision of whoever reads the kubeconfig no plugin may be run', async () => {
  const config = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://a.example' } }],
    users: [{ name: 'u', user: { exec } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  });
  const found = (await loadKubeconfig('/etc/rh/config', async () => Buffer.from(config))).get('c');
  assert.ok(found !== undefined && 'refusal' in found);
  assert.equal(found.refusal.code, 'ERR_RH_EXEC_PLUGIN_FORBIDDEN');
  assert.match(found.refusal.message, /policy DenyAll forbids/);
});

test('a list of what may be run goes along with the plugin: it is decided where its command is found', async () => {
  const policy = { policy: 'Allowlist', allowlist: ['aws', '/opt/plugin'] } as const;
  assert.deepEqual((await plugin(exec, { policy })).allowlist, ['aws', '/opt/plugin']);
  assert.equal((await plugin(exec)).allowlist, undefined);
});

test('a token of the kubeconfig wins over its plugin, as for kubectl', async () => {
  const found = await resolved(exec, { user: { token: 'abc' } });
  assert.ok('credential' in found);
  assert.deepEqual(found.credential, { kind: 'token', token: 'abc' });
});

test('the hint of its author is shown without what a terminal would obey', async () => {
  const found = await plugin({ ...exec, installHint: 'get it\u001b]0;x\u0007 at\nexample.com' });
  assert.equal(found.installHint, 'get it ]0;x  at example.com');
});
