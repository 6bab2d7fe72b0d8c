import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import https from 'node:https';
import { json, text as wholeText } from 'node:stream/consumers';
import { test } from 'node:test';
import { at, parseJson } from '../src/kube-apiserver/json.ts';
import { CertificateAuthority } from '../src/certificate-authority.ts';
import type { IssuedCertificate } from '../src/certificate-authority.ts';
import type { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import { call, configMaps, startServer, token } from './kube-apiserver-client.ts';

const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

test('a token stands for its user, in the group of all who are authenticated', async () => {
  await using server = await startServer({
    authentication: {
      tokens: { [token]: { username: 'jane', uid: '7', groups: ['dev'], extra: { scope: ['a', 'b'] } } },
    },
  });
  const { status, body } = await call(server, 'POST', reviews, { body: review });
  assert.equal(status, 201);
  assert.deepEqual(at(body, 'status', 'userInfo'), {
    username: 'jane',
    uid: '7',
    groups: ['dev', 'system:authenticated'],
    extra: { scope: ['a', 'b'] },
  });
});

test('a wrong token is 401 even where anonymous callers are let in', async () => {
  await using server = await startServer();
  for (const authorization of ['Bearer wrong', 'Bearer', 'Basic dXNlcjpwYXNz']) {
    const { status, body, headers } = await call(server, 'GET', '/version', { headers: { authorization } });
    assert.deepEqual(
      [status, at(body, 'reason'), at(body, 'message')],
      [401, 'Unauthorized', 'Unauthorized'],
    );
    assert.equal(headers.get('www-authenticate'), 'Bearer');
  }
});

test('an anonymous caller sees health and version only, and nothing where anonymous callers are refused', async () => {
  await using server = await startServer();
  const anonymously = async (from: KubeApiserver, path: string) => {
    const response = await fetch(`${from.url}${path}`);
    return { status: response.status, body: await response.text() };
  };
  assert.deepEqual(await anonymously(server, '/livez'), { status: 200, body: 'ok' });
  assert.equal((await anonymously(server, '/version')).status, 200);
  const refused = await anonymously(server, configMaps);
  assert.equal(refused.status, 403);
  assert.equal(
    JSON.parse(refused.body).message,
    'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"',
  );
  assert.equal(
    JSON.parse((await anonymously(server, '/apis')).body).message,
    'forbidden: User "system:anonymous" cannot get path "/apis"',
  );

  await using closed = await startServer({ authentication: { anonymous: false } });
  assert.equal((await anonymously(closed, '/livez')).status, 401);
});

test('impersonation headers change the caller, repeated groups and extras kept apart and in order', async () => {
  await using server = await startServer();
  const { body } = await call(server, 'POST', reviews, {
    body: review,
    headers: {
      'impersonate-user': 'bob',
      'impersonate-uid': '9',
      'impersonate-extra-example.com%2fscopes': 'view',
    },
  });
  assert.deepEqual(at(body, 'status', 'userInfo'), {
    username: 'bob',
    uid: '9',
    groups: ['system:authenticated'],
    extra: { 'example.com/scopes': ['view'] },
  });
});

test('two groups sent as two headers are two groups, over HTTP/1.1 and over HTTP/2', async () => {
  const authority = await CertificateAuthority.create();
  const serving = await authority.issue({ commonName: 'server', usage: 'server' });
  await using server = await startServer({ tls: serving });
  const headers = {
    authorization: `Bearer ${token}`,
    'impersonate-user': 'bob',
    'impersonate-group': ['a', 'b'],
    'content-type': 'application/json',
  };
  const text = JSON.stringify(review);

  const request = https.request(`${server.url}${reviews}`, {
    method: 'POST',
    ca: authority.certificatePem,
    headers,
    agent: false,
  });
  request.end(text);
  const [response] = await once(request, 'response');
  const first = (await json(response)) as typeof review & { status: { userInfo: { groups: string[] } } };
  assert.deepEqual(first.status.userInfo.groups, ['a', 'b', 'system:authenticated']);

  const session = http2.connect(server.url, { ca: authority.certificatePem });
  const stream = session.request({ ':method': 'POST', ':path': reviews, ...headers });
  stream.end(text);
  const second = (await json(stream)) as typeof first;
  session.close();
  assert.deepEqual(second.status.userInfo.groups, ['a', 'b', 'system:authenticated']);
  assert.deepEqual(
    server.requests.map((seen) => seen.protocol),
    ['http/1.1', 'h2'],
  );
  for (const seen of server.requests) assert.deepEqual(seen.headerValues('impersonate-group'), ['a', 'b']);
});

test('whose identity is without a user is 500, and nobody is out of the group of those who are, or are not, authenticated', async () => {
  await using server = await startServer();
  const as = async (headers: Record<string, string>) =>
    call(server, 'POST', reviews, { body: review, headers });
  assert.equal((await as({ 'impersonate-group': 'admins' })).status, 500);
  const groupsOf = async (headers: Record<string, string>) =>
    at(
      (await as({ ...headers, 'impersonate-group': 'system:masters' })).body,
      'status',
      'userInfo',
      'groups',
    );
  assert.deepEqual(await groupsOf({ 'impersonate-user': 'bob' }), ['system:masters', 'system:authenticated']);
  assert.deepEqual(await groupsOf({ 'impersonate-user': 'system:anonymous' }), [
    'system:masters',
    'system:unauthenticated',
  ]);
});

test('a service account brings its groups when it is impersonated alone', async () => {
  await using server = await startServer();
  const { body } = await call(server, 'POST', reviews, {
    body: review,
    headers: { 'impersonate-user': 'system:serviceaccount:shop:web' },
  });
  assert.deepEqual(at(body, 'status', 'userInfo', 'groups'), [
    'system:serviceaccounts',
    'system:serviceaccounts:shop',
    'system:authenticated',
  ]);
});

test('a client certificate stands for its common name and organizations; one of another authority is 401', async () => {
  const authority = await CertificateAuthority.create();
  const other = await CertificateAuthority.create();
  const serving = await authority.issue({ commonName: 'server', usage: 'server' });
  await using server = await startServer({ tls: { ...serving, clientCaPem: authority.certificatePem } });
  const request = { commonName: 'jane', organizations: ['dev', 'ops'], usage: 'client' } as const;
  const whoami = async (certificate: IssuedCertificate) => {
    const outgoing = https.request(`${server.url}${reviews}`, {
      method: 'POST',
      ca: authority.certificatePem,
      cert: certificate.certPem,
      key: certificate.keyPem,
      headers: { 'content-type': 'application/json' },
      agent: false,
    });
    outgoing.end(JSON.stringify(review));
    const [response] = await once(outgoing, 'response');
    return { status: response.statusCode, body: parseJson(await wholeText(response)) };
  };
  const known = await whoami(await authority.issue(request));
  assert.deepEqual(at(known.body, 'status', 'userInfo'), {
    username: 'jane',
    groups: ['dev', 'ops', 'system:authenticated'],
  });
  assert.equal((await whoami(await other.issue(request))).status, 401);
  assert.deepEqual(
    server.connections.map(({ tls }) => [tls?.clientCommonName, tls?.clientAuthorized]),
    [
      ['jane', true],
      ['jane', false],
    ],
  );
});
