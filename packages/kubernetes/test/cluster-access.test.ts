import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificateAuthority } from '@roundhouse/simulators';
import { loadKubeconfig } from '../src/index.ts';
import type { ClusterAccess, ContextResolution } from '../src/index.ts';

const authority = await CertificateAuthority.create();
const client = await authority.issue({ commonName: 'admin', usage: 'client' });
const other = await authority.issue({ commonName: 'other', usage: 'client' });
const base64 = (text: string): string => Buffer.from(text).toString('base64');

type Fields = Readonly<Record<string, unknown>>;

/** One context `c` of this cluster and user, read from /etc/rh/config with these files beside it. */
async function resolve(
  cluster: Fields,
  user: Fields | undefined,
  files: Readonly<Record<string, string>> = {},
): Promise<ContextResolution> {
  const config = JSON.stringify({
    clusters: [{ name: 'c', cluster }],
    users: user === undefined ? [] : [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', ...(user && { user: 'u' }), namespace: 'web' } }],
  });
  const contents: Readonly<Record<string, string>> = { '/etc/rh/config': config, ...files };
  const resolutions = await loadKubeconfig('/etc/rh/config', async (path) => {
    const content = contents[path];
    if (content === undefined) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' });
    return Buffer.from(content);
  });
  const found = resolutions.get('c');
  assert.ok(found !== undefined);
  return found;
}

async function access(...given: Parameters<typeof resolve>): Promise<ClusterAccess> {
  const found = await resolve(...given);
  assert.ok(!('refusal' in found), 'refusal' in found ? found.refusal.message : '');
  return found;
}

async function refusal(...given: Parameters<typeof resolve>): Promise<{ code: string; message: string }> {
  const found = await resolve(...given);
  assert.ok('refusal' in found, 'it was taken');
  return found.refusal;
}

const https = { server: 'https://a.example:6443' };

test('inline material, a token and the names of the context come out ready for use', async () => {
  const found = await access(
    {
      ...https,
      'tls-server-name': 'b.example',
      'certificate-authority-data': base64(authority.certificatePem),
    },
    {
      token: 'abc\n',
      'client-certificate-data': base64(client.certPem),
      'client-key-data': base64(client.keyPem),
    },
  );
  assert.equal(found.server, 'https://a.example:6443');
  assert.equal(found.basePath, '');
  assert.equal(found.serverName, 'b.example');
  assert.equal(found.namespace, 'web');
  assert.deepEqual(found.credential, { kind: 'token', token: 'abc' });
  assert.ok(found.material.caDigest !== undefined && found.material.certDigest !== undefined);
});

test('file material is read relative to the folder of the kubeconfig, and equals the same material inline', async () => {
  const files = {
    '/etc/rh/pki/ca.pem': `${authority.certificatePem}\n`,
    '/etc/rh/client.pem': client.certPem,
    '/abs/client.key': client.keyPem,
  };
  const fromFiles = await access(
    { ...https, 'certificate-authority': 'pki/ca.pem' },
    { 'client-certificate': './client.pem', 'client-key': '/abs/client.key' },
    files,
  );
  const inline = await access(
    { ...https, 'certificate-authority-data': base64(authority.certificatePem) },
    { 'client-certificate-data': base64(client.certPem), 'client-key-data': base64(client.keyPem) },
  );
  assert.equal(fromFiles.credential.kind, 'client-certificate');
  assert.ok(fromFiles.material.equals(inline.material));
});

test('a path in the server is kept apart, without its trailing slash', async () => {
  for (const [server, basePath] of [
    ['https://h/k8s/clusters/c-1', '/k8s/clusters/c-1'],
    ['https://h/k8s/clusters/c-1/', '/k8s/clusters/c-1'],
    ['https://h/', ''],
    ['https://h', ''],
  ] as const) {
    const found = await access({ server }, undefined);
    assert.deepEqual([found.server, found.basePath], ['https://h', basePath]);
  }
});

test('a token file wins over an inline token', async () => {
  const found = await access(https, { token: 'old', tokenFile: 'token' }, { '/etc/rh/token': 'new\n' });
  assert.deepEqual(found.credential, { kind: 'token', token: 'new' });
});

test('without a user there is no credential', async () => {
  assert.deepEqual((await access(https, undefined)).credential, { kind: 'none' });
});

test('what is not supported is refused by name', async () => {
  for (const [user, words] of [
    [{ 'auth-provider': { name: 'oidc' } }, 'an auth-provider'],
    [{ username: 'admin', password: 'planted-secret' }, 'basic authentication'],
    [{ token: 'abc', as: 'root' }, 'impersonation'],
    [{ token: 'abc', 'as-groups': ['system:masters'] }, 'as-groups'],
  ] as const) {
    const { code, message } = await refusal(https, user);
    assert.equal(code, 'ERR_RH_CONTEXT_UNSUPPORTED');
    assert.match(message, /context c uses .* not supported yet/);
    assert.ok(message.includes(words), message);
    assert.doesNotMatch(message, /planted/);
  }
});

test('a proxy-url is the way to the cluster; SOCKS proxies resolve its name, by either scheme', async () => {
  assert.equal((await access(https, undefined)).dialer, undefined);
  assert.equal((await access({ ...https, 'proxy-url': '' }, undefined)).dialer, undefined);
  const id = async (url: string, cluster: Fields = {}): Promise<string> =>
    (await access({ ...https, ...cluster, 'proxy-url': url }, undefined)).dialer?.id ?? '';
  assert.match(await id('http://proxy'), /^http:\/\/proxy:80 /);
  assert.match(await id('HTTPS://user:planted@Proxy/'), /^https:\/\/proxy:443 [0-9a-f]+$/);
  assert.match(await id('socks5://proxy'), /^socks5h:\/\/proxy:1080 /);
  assert.equal(await id('socks5://proxy'), await id('socks5h://proxy:1080'));
  assert.equal(await id('socks5://proxy', { server: 'http://a.example' }), await id('socks5://proxy'));
  // As for client-go, the CA of the cluster is that of an https proxy.
  const ca = { 'certificate-authority-data': base64(authority.certificatePem) };
  assert.equal(await id('http://proxy', ca), await id('http://proxy'));
  assert.notEqual(await id('https://proxy', ca), await id('https://proxy'));
});

test('a proxy-url that is none refuses the context, and is not quoted', async () => {
  for (const url of [
    'planted',
    'ftp://planted',
    'socks4://planted',
    '//planted:1',
    'http://p/planted',
    'http://u:planted%@p',
  ]) {
    const { code, message } = await refusal({ ...https, 'proxy-url': url }, undefined);
    assert.equal(code, 'ERR_RH_CONTEXT_UNUSABLE', url);
    assert.match(message, /context c cannot be used: .*the address of the proxy/);
    assert.doesNotMatch(message, /planted/);
  }
});

test('what is missing or broken is refused with the reason, and no secret is in it', async () => {
  const badData = { ...https, 'certificate-authority-data': 'not base64!' };
  const pair = { 'client-certificate-data': base64(client.certPem), 'client-key-data': base64(other.keyPem) };
  for (const [cluster, user, message] of [
    [{}, undefined, /its server is not an http/],
    [{ server: 'localhost:8080' }, undefined, /its server is not an http/],
    [{ server: 'https://user:planted@h' }, undefined, /user information/],
    [{ server: 'http://h', 'tls-server-name': 'x' }, undefined, /without TLS/],
    [badData, undefined, /certificate-authority-data is not base64/],
    [{ ...https, 'certificate-authority-data': base64('no pem') }, undefined, /no complete PEM certificate/],
    [{ ...https, 'certificate-authority': 'gone.pem' }, undefined, /gone.pem cannot be read \(ENOENT\)/],
    [
      {
        ...https,
        'insecure-skip-tls-verify': true,
        'certificate-authority-data': base64(authority.certificatePem),
      },
      undefined,
      /exclude each other/,
    ],
    [https, pair, /key does not belong/],
    [https, { 'client-certificate-data': base64(client.certPem) }, /no key/],
    [https, { tokenFile: 'gone' }, /tokenFile gone cannot be read/],
    [https, { token: 'two\r\nlines: planted' }, /characters that a token cannot have/],
  ] as const) {
    const found = await refusal(cluster, user);
    assert.equal(found.code, 'ERR_RH_CONTEXT_UNUSABLE');
    assert.match(found.message, message);
    assert.doesNotMatch(found.message, /planted|PRIVATE KEY/);
  }
});

test('a context that cannot be used spoils none of the others', async () => {
  const config = `
clusters: [{name: c, cluster: {server: 'https://a'}}]
users: [{name: bad, user: {as: x}}, {name: good, user: {token: t}}]
contexts:
- {name: one, context: {cluster: c, user: bad}}
- {name: two, context: {cluster: c, user: good}}
- {name: three, context: {cluster: missing}}
- {name: four, context: {cluster: c, user: missing}}
`;
  const found = await loadKubeconfig('/x/config', async () => Buffer.from(config));
  const codes = [...found].map(([name, entry]) => [name, 'refusal' in entry ? entry.refusal.code : 'ok']);
  assert.deepEqual(codes, [
    ['one', 'ERR_RH_CONTEXT_UNSUPPORTED'],
    ['two', 'ok'],
    ['three', 'ERR_RH_CONTEXT_UNUSABLE'],
    ['four', 'ERR_RH_CONTEXT_UNUSABLE'],
  ]);
});
