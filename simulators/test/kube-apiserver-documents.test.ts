import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listAt, parseJson, textAt } from '../src/kube-apiserver/json.ts';
import { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import { decodeProtobufObject } from '../src/kube-apiserver/protobuf/envelope.ts';
import { call, open, startServer } from './kube-apiserver-client.ts';

test('discovery lists every group, version and resource, with verbs and short names', async () => {
  await using server = await startServer();
  assert.deepEqual(at((await call(server, 'GET', '/api')).body, 'versions'), ['v1']);
  const groups = listAt((await call(server, 'GET', '/apis')).body, 'groups');
  assert.deepEqual(
    groups.map((group) => at(group, 'name')),
    [
      'apps',
      'events.k8s.io',
      'authentication.k8s.io',
      'authorization.k8s.io',
      'rbac.authorization.k8s.io',
      'apiextensions.k8s.io',
      'coordination.k8s.io',
      'discovery.k8s.io',
    ],
  );
  assert.equal(
    at((await call(server, 'GET', '/apis/apps')).body, 'preferredVersion', 'groupVersion'),
    'apps/v1',
  );
  const { body } = await call(server, 'GET', '/apis/apps/v1');
  assert.equal(at(body, 'groupVersion'), 'apps/v1');
  assert.deepEqual(
    listAt(body, 'resources').map((resource) => at(resource, 'name')),
    [
      'deployments',
      'deployments/scale',
      'deployments/status',
      'replicasets',
      'replicasets/scale',
      'replicasets/status',
    ],
  );
  assert.deepEqual(at(body, 'resources', 0, 'shortNames'), ['deploy']);
  assert.equal((await call(server, 'GET', '/apis/none')).status, 404);
  assert.equal((await call(server, 'GET', '/nowhere')).status, 404);
});

test('aggregated discovery is told in its older version, too, to who does not know the newer one', async () => {
  await using server = await startServer();
  const older = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';
  const ask = async (accept: string) => call(server, 'GET', '/apis', { headers: { accept } });
  const answer = await ask(`${older},application/json`);
  assert.equal(answer.headers.get('content-type'), older);
  assert.equal(at(answer.body, 'apiVersion'), 'apidiscovery.k8s.io/v2beta1');
  const both = await ask(`${older.replace('v2beta1', 'v2')},${older}`);
  assert.equal(at(both.body, 'apiVersion'), 'apidiscovery.k8s.io/v2');
  assert.deepEqual(at(both.body, 'items'), at(answer.body, 'items'));
  assert.equal(both.headers.get('etag'), answer.headers.get('etag'));
});

test('version, health and OpenAPI answer', async () => {
  await using server = await startServer({ version: 'v1.33.4' });
  const version = (await call(server, 'GET', '/version')).body;
  assert.deepEqual(
    [at(version, 'major'), at(version, 'minor'), at(version, 'gitVersion')],
    ['1', '33', 'v1.33.4'],
  );
  assert.match(textAt((await call(server, 'GET', '/readyz?verbose')).body), /readyz check passed/);
  const index = parseJson(textAt((await call(server, 'GET', '/openapi/v3')).body));
  const document = await call(server, 'GET', textAt(index, 'paths', 'apis/apps/v1', 'serverRelativeURL'));
  const path = '/apis/apps/v1/namespaces/{namespace}/deployments/{name}';
  const parameters = listAt(document.body, 'paths', path, 'patch', 'parameters');
  assert.ok(parameters.some((parameter) => at(parameter, 'name') === 'fieldValidation'));
});

test('a fresh cluster has its namespaces, nodes and the kubernetes service, and what it was seeded with', async () => {
  await using server = await startServer({
    name: 'alpha',
    seed: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } },
    ],
  });
  const names = (kind: string) =>
    server.store.list({ apiVersion: 'v1', kind }).map(({ metadata }) => metadata.name);
  assert.deepEqual(names('Namespace'), ['default', 'kube-node-lease', 'kube-public', 'kube-system', 'shop']);
  assert.deepEqual(names('Node'), ['alpha-node-1', 'alpha-node-2']);
  assert.deepEqual(names('Service'), ['kubernetes', 'kube-dns']);
  assert.deepEqual(names('ConfigMap'), ['a']);
});

test('a seed that is not valid, and a port that is taken, are refused at the start', async () => {
  await assert.rejects(
    KubeApiserver.listen({ name: 'a', seed: [{ kind: 'Unicorn', apiVersion: 'v1' }] }),
    /no matches for kind "Unicorn"/,
  );
  await using server = await startServer();
  await assert.rejects(KubeApiserver.listen({ name: 'b', port: server.port }), { code: 'EADDRINUSE' });
});

test('a body in protobuf is read as the object that it is', async () => {
  // What kubectl 1.35 sends for `kubectl create configmap settings --from-literal a=b -n default`.
  const bytes = Buffer.concat([
    Buffer.from('k8s\0'),
    field(1, Buffer.concat([field(1, 'v1'), field(2, 'ConfigMap')])),
    field(
      2,
      Buffer.concat([
        field(1, Buffer.concat([field(1, 'settings'), field(2, ''), field(3, 'default'), field(8, '')])),
        field(2, Buffer.concat([field(1, 'a'), field(2, 'b')])),
      ]),
    ),
    field(3, ''),
    field(4, ''),
  ]);
  assert.deepEqual(decodeProtobufObject(bytes), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'default' },
    data: { a: 'b' },
  });
  await using server = await startServer();
  const { status, body } = await call(server, 'POST', '/api/v1/namespaces/default/configmaps', {
    body: bytes,
    type: 'application/vnd.kubernetes.protobuf',
  });
  assert.deepEqual([status, at(body, 'data')], [201, { a: 'b' }]);
});

test('a review in protobuf may tell extras of its user, which are lists by key', () => {
  const extra = Buffer.concat([field(1, 'scopes'), field(2, Buffer.concat([field(1, 'a'), field(1, 'b')]))]);
  const path = Buffer.concat([field(1, '/logs'), field(2, 'get')]);
  const spec = Buffer.concat([field(2, path), field(3, 'jane'), field(4, 'dev'), field(5, extra)]);
  const type = Buffer.concat([field(1, 'authorization.k8s.io/v1'), field(2, 'SubjectAccessReview')]);
  const bytes = Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, field(2, spec))]);
  assert.deepEqual(decodeProtobufObject(bytes)['spec'], {
    nonResourceAttributes: { path: '/logs', verb: 'get' },
    user: 'jane',
    groups: ['dev'],
    extra: { scopes: ['a', 'b'] },
  });
});

test('protobuf that is cut off, or has a field that is not known, is a bad request and never a guess', () => {
  const envelope = (raw: Buffer) =>
    Buffer.concat([
      Buffer.from('k8s\0'),
      field(1, Buffer.concat([field(1, 'v1'), field(2, 'ConfigMap')])),
      field(2, raw),
    ]);
  const good = envelope(field(2, Buffer.concat([field(1, 'a'), field(2, 'b')])));
  for (let length = 0; length < good.length; length += 1) {
    // Between two fields of the envelope it is a whole message with less in it.
    if (length === 4 || length === 21) continue;
    assert.throws(() => decodeProtobufObject(good.subarray(0, length)), { code: 400 }, `${length} bytes`);
  }
  assert.throws(() => decodeProtobufObject(envelope(field(99, 'x'))), {
    code: 400,
    message: /field 99 of ConfigMap/,
  });
});

test('what was seen is kept up to a limit, and the counters count all of it', async () => {
  await using server = await startServer({ keepRecords: 10 });
  for (let count = 0; count < 25; count += 1) await call(server, 'GET', `/version?n=${count}`);
  assert.equal(server.received, 25);
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    Array.from({ length: 10 }, (_, index) => `/version?n=${index + 15}`),
  );
});

test('paths arrive as they were sent, and a HEAD is a GET without a body', async () => {
  await using server = await startServer();
  const head = await open(server, 'HEAD', '/api/v1/namespaces/default/configmaps?limit=1&limit=2');
  assert.deepEqual([head.status, await head.text()], [200, '']);
  await open(server, 'GET', '/api/v1/namespaces/default/configmaps/a%2Fb');
  assert.deepEqual(
    server.requests.map(({ path }) => path),
    ['/api/v1/namespaces/default/configmaps?limit=1&limit=2', '/api/v1/namespaces/default/configmaps/a%2Fb'],
  );
});

/** A length-delimited field below 16. */
function field(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const tag = number < 16 ? [number * 8 + 2] : [((number * 8 + 2) & 0x7f) | 0x80, (number * 8 + 2) >>> 7];
  return Buffer.concat([Buffer.from(tag), Buffer.from([bytes.length]), bytes]);
}
