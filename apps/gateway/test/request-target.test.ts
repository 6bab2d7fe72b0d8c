import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askHttp2, codeOf, dialHttp2, sendRawGet } from './support/clients.ts';
import { callersAuthority, openRig } from './support/gateway-rig.ts';

const proxied = '/api/v1/namespaces/web/services/http:app:80/proxy';

const kept = [
  '/',
  '/version/',
  '/api/v1/namespaces/web/pods/',
  '/api/v1/pods?limit=5&limit=6&continue=a%2Fb%3D&x',
  '/api/v1/nodes/system%3anode',
  '/api/v1/nodes/system%3Anode',
  '/api/v1/namespaces/web/config%6Daps/a%2Db',
  '/api/v1/pods?labelSelector=a%20in%20(b,c)&fieldSelector=x!%3Dy&q="{}|^`',
  '/apis/apps/v1/deployments?watch=false&x=%zz&y=a;b',
  `${proxied}/a%2Fb//c/?d=%2e%2E`,
  `${proxied}/%C3%28`,
  `${proxied}//`,
  '/openapi/v3/apis/apps/v1?hash=AB%2BC%3D%3D',
];

const refused = [
  '/api/v1/../v1/pods',
  '/api/v1/./pods',
  '/api/v1/pods/..',
  '/api/v1/%2e%2e/secrets',
  '/api/v1/.%2E/secrets',
  '/api/v1/%2e/pods',
  `${proxied}/../../../../secrets`,
  `${proxied}/%2e%2e/x`,
  `${proxied}/..;/x`,
  '//api/v1/pods',
  '/api//v1/pods',
  '/api/v1/namespaces//pods',
  '/api/v1/namespaces/a%2Fb/pods',
  '/api/v1/namespaces/a%2fb/pods',
  '/api/v1/pods%2Fexec',
  '/version%2F..',
  '/api\\v1/pods',
  '/api/v1%5Cpods',
  '/api/v1/pods%00',
  '/api/v1/pods%0d%0aX: y',
  '/api/v1/pods%7f',
  '/api/v1/pods%',
  '/api/v1/pods%2',
  '/api/v1/pods%zz',
  '/api/v1/namespaces/%C3%28/pods',
  '/api/v1/pods#fragment',
  '/api/v1/pods?a=b#fragment',
  '/api/v1/{pods}',
  '/api/v1/"pods"',
];

test('what is forwarded is what came, byte for byte', async (t) => {
  const { gateway, upstream } = await openRig(t);
  for (const target of kept) {
    const raw = await sendRawGet(gateway.url, `/clusters/alpha${target}`, 'Connection: close');
    assert.equal(codeOf(raw), 200, target);
    assert.equal(upstream.requests.at(-1)?.path, target);
  }
  assert.equal(upstream.requests.length, kept.length);
});

test('a target that could mean two things is a 400, and nothing of it reaches the cluster', async (t) => {
  const { gateway, upstream } = await openRig(t);
  for (const target of refused) {
    const raw = await sendRawGet(gateway.url, `/clusters/alpha${target}`, 'Connection: close');
    assert.equal(codeOf(raw), 400, target);
  }
  for (const target of [
    'http://evil.example/clusters/alpha/api',
    '*',
    'clusters/alpha/api',
    '//clusters/alpha/api',
    '/x/../clusters/alpha/api',
    '/%2e%2e/clusters/alpha/api',
    '/clusters/../clusters/alpha/api',
  ]) {
    assert.equal(codeOf(await sendRawGet(gateway.url, target, 'Connection: close')), 400, target);
  }
  assert.equal(upstream.accepted, 0);
});

test('the same rules hold over HTTP/2', async (t) => {
  const { gateway, upstream } = await openRig(t, { tls: true });
  const { certPem: cert, keyPem: key } = await callersAuthority.issue({
    commonName: 'jane',
    usage: 'client',
  });
  await using session = await dialHttp2(gateway.url, { cert, key });
  for (const target of kept) {
    const { status } = await askHttp2(session, { ':path': `/clusters/alpha${target}` });
    assert.equal(status, 200, target);
    assert.equal(upstream.requests.at(-1)?.path, target);
  }
  for (const target of [...refused, '/api/v1/pods\u00e9']) {
    // What HTTP/2 itself does not allow in a path ends the stream before anybody here sees it.
    const outcome = await askHttp2(session, { ':path': `/clusters/alpha${target}` }).then(
      ({ status }) => status,
      (error: NodeJS.ErrnoException) => error.message,
    );
    assert.match(String(outcome), /^400$|NGHTTP2_PROTOCOL_ERROR/, target);
  }
  assert.equal(upstream.requests.length, kept.length);
});

test('the base path of a server is put before what is asked', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    contexts: ({ url }) => ({
      alpha: { cluster: { server: `${url}/k8s/clusters/c-1/`, 'insecure-skip-tls-verify': true } },
    }),
  });
  await sendRawGet(gateway.url, '/clusters/alpha/api/?x=1', 'Connection: close');
  await sendRawGet(gateway.url, '/clusters/alpha', 'Connection: close');
  assert.deepEqual(
    upstream.requests.map(({ path }) => path),
    ['/k8s/clusters/c-1/api/?x=1', '/k8s/clusters/c-1/'],
  );
});

test('a context name that a path cannot carry is served under a name made of it, and escaped as one segment', async (t) => {
  const name = 'default/api.example:6443/kube:admin';
  const { gateway, upstream } = await openRig(t, {
    contexts: ({ url }) => ({
      [name]: { cluster: { server: url, 'insecure-skip-tls-verify': true } },
      'arn:aws:eks:eu-west-1:123:cluster/prod': {
        cluster: { server: url, 'insecure-skip-tls-verify': true },
      },
      '..': { cluster: { server: url, 'insecure-skip-tls-verify': true } },
    }),
  });
  const [first, , dots] = gateway.clusters;
  assert.match(first?.pathName ?? '', /^default-api-example:6443-kube:admin-[0-9a-f]{8}$/);
  assert.match(dots?.pathName ?? '', /^[0-9a-f]{8}$/);
  for (const segment of [first?.pathName, encodeURIComponent(name)]) {
    const raw = await sendRawGet(gateway.url, `/clusters/${segment}/version`, 'Connection: close');
    assert.equal(codeOf(raw), 200, segment);
  }
  assert.equal(upstream.requests.length, 2);
});
