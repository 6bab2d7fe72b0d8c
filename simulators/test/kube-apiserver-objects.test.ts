import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listAt, objectAt, textAt } from '../src/kube-apiserver/json.ts';
import { call, configMap, configMaps, pod, startServer } from './kube-apiserver-client.ts';

test('a created object gets a uid, a creation time and a resourceVersion, and is found by its name', async () => {
  await using server = await startServer();
  const created = await call(server, 'POST', configMaps, { body: configMap('one', { a: '1' }) });
  assert.equal(created.status, 201);
  assert.match(textAt(created.body, 'metadata', 'uid'), /^[0-9a-f-]{36}$/);
  assert.match(textAt(created.body, 'metadata', 'creationTimestamp'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const found = await call(server, 'GET', `${configMaps}/one`);
  assert.deepEqual(found.body, created.body);
});

test('an update with an old resourceVersion is a conflict, and without one it wins', async () => {
  await using server = await startServer();
  const { body: first } = await call(server, 'POST', configMaps, { body: configMap('one', { a: '1' }) });
  const second = await call(server, 'PUT', `${configMaps}/one`, {
    body: { ...objectAt(first), data: { a: '2' } },
  });
  assert.equal(second.status, 200);
  assert.ok(
    Number(at(second.body, 'metadata', 'resourceVersion')) > Number(at(first, 'metadata', 'resourceVersion')),
  );

  const stale = await call(server, 'PUT', `${configMaps}/one`, {
    body: { ...objectAt(first), data: { a: '3' } },
  });
  assert.equal(stale.status, 409);
  assert.equal(at(stale.body, 'reason'), 'Conflict');
  assert.deepEqual(at(stale.body, 'details'), { name: 'one', kind: 'configmaps' });
  assert.match(
    textAt(stale.body, 'message'),
    /^Operation cannot be fulfilled on configmaps "one": the object has been modified/,
  );

  const blind = await call(server, 'PUT', `${configMaps}/one`, { body: configMap('one', { a: '4' }) });
  assert.deepEqual(at(blind.body, 'data'), { a: '4' });
  assert.equal(at(blind.body, 'metadata', 'uid'), at(first, 'metadata', 'uid'));
});

test('an update that changes nothing makes no new resourceVersion', async () => {
  await using server = await startServer();
  const { body: first } = await call(server, 'POST', configMaps, { body: configMap('one', { a: '1' }) });
  const again = await call(server, 'PUT', `${configMaps}/one`, { body: first });
  assert.equal(at(again.body, 'metadata', 'resourceVersion'), at(first, 'metadata', 'resourceVersion'));
});

test('what a client may not do is refused with the code, reason and details of the real server', async () => {
  await using server = await startServer();
  await call(server, 'POST', configMaps, { body: configMap('one') });
  const refusals = [
    ['GET', `${configMaps}/none`, undefined, 404, 'NotFound', 'configmaps "none" not found'],
    ['POST', configMaps, configMap('one'), 409, 'AlreadyExists', 'configmaps "one" already exists'],
    [
      'POST',
      '/api/v1/namespaces/none/configmaps',
      { metadata: { name: 'a' } },
      404,
      'NotFound',
      'namespaces "none" not found',
    ],
    [
      'POST',
      configMaps,
      configMap('Not_A_Name'),
      422,
      'Invalid',
      /^ConfigMap "Not_A_Name" is invalid: metadata.name: /,
    ],
    [
      'POST',
      configMaps,
      { ...configMap('a'), kind: 'Secret' },
      400,
      'BadRequest',
      /cannot be handled as a ConfigMap/,
    ],
    ['POST', configMaps, { ...configMap('a'), metadata: { name: 7 } }, 400, 'BadRequest', /metadata.name/],
    ['PUT', `${configMaps}/one`, configMap('two'), 400, 'BadRequest', /does not match the name on the URL/],
    ['POST', `${configMaps}/one`, configMap('one'), 405, 'MethodNotAllowed', /does not allow this method/],
    [
      'GET',
      '/api/v1/namespaces/default/unicorns',
      undefined,
      404,
      'NotFound',
      'the server could not find the requested resource',
    ],
    [
      'GET',
      '/apis/none/v1/things',
      undefined,
      404,
      'NotFound',
      'the server could not find the requested resource',
    ],
    [
      'POST',
      '/api/v1/namespaces/default/pods',
      { metadata: { name: 'a' } },
      422,
      'Invalid',
      'Pod "a" is invalid: spec.containers: Required value',
    ],
    ['GET', `${configMaps}/%zz`, undefined, 400, 'BadRequest', 'invalid URL escape in the path'],
  ] as const;
  for (const [method, path, body, code, reason, message] of refusals) {
    const answer = await call(server, method, path, body === undefined ? {} : { body });
    assert.equal(answer.status, code, `${method} ${path}`);
    assert.deepEqual(
      {
        kind: at(answer.body, 'kind'),
        status: at(answer.body, 'status'),
        reason: at(answer.body, 'reason'),
        code: at(answer.body, 'code'),
      },
      { kind: 'Status', status: 'Failure', reason, code },
    );
    if (typeof message === 'string') assert.equal(at(answer.body, 'message'), message);
    else assert.match(textAt(answer.body, 'message'), message);
  }
});

test('generateName makes a name that is new each time', async () => {
  await using server = await startServer();
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'part-' } };
  const names = await Promise.all(
    [1, 2, 3].map(async () =>
      textAt((await call(server, 'POST', configMaps, { body })).body, 'metadata', 'name'),
    ),
  );
  assert.equal(new Set(names).size, 3);
  for (const name of names) assert.match(name, /^part-[a-z0-9]{5}$/);
});

test('status is written through its subresource only, and only changes of the rest count as generations', async () => {
  await using server = await startServer();
  const path = '/api/v1/namespaces/default/pods';
  const { body: first } = await call(server, 'POST', path, {
    body: { ...pod('one'), status: { phase: 'Failed' } },
  });
  assert.equal(at(first, 'status', 'phase'), 'Pending');
  assert.equal(at(first, 'metadata', 'generation'), 1);

  const main = await call(server, 'PUT', `${path}/one`, {
    body: { ...objectAt(first), status: { phase: 'Failed' } },
  });
  assert.equal(at(main.body, 'status', 'phase'), 'Pending');
  const status = await call(server, 'PUT', `${path}/one/status`, {
    body: { ...objectAt(first), spec: {}, status: { ...objectAt(first, 'status'), phase: 'Running' } },
  });
  assert.equal(status.status, 200);
  assert.equal(at(status.body, 'status', 'phase'), 'Running');
  assert.deepEqual(at(status.body, 'spec'), at(first, 'spec'));
  assert.equal(at(status.body, 'metadata', 'generation'), 1);
  const spec = await call(server, 'PATCH', `${path}/one`, {
    body: { spec: { activeDeadlineSeconds: 5 } },
    type: 'application/merge-patch+json',
  });
  assert.equal(at(spec.body, 'metadata', 'generation'), 2);
});

test('a dry run answers what would be, and stores nothing', async () => {
  await using server = await startServer();
  const revision = server.store.revision;
  const created = await call(server, 'POST', `${configMaps}?dryRun=All`, { body: configMap('one') });
  assert.equal(created.status, 201);
  assert.equal((await call(server, 'GET', `${configMaps}/one`)).status, 404);
  assert.equal(server.store.revision, revision);
});

test('a deletion confirms by uid, keeps to its preconditions, and waits for finalizers', async () => {
  await using server = await startServer();
  const { body: first } = await call(server, 'POST', configMaps, { body: configMap('one') });
  const wrong = await call(server, 'DELETE', `${configMaps}/one`, {
    body: { preconditions: { uid: 'another' } },
  });
  assert.equal(wrong.status, 409);
  const right = await call(server, 'DELETE', `${configMaps}/one`);
  assert.deepEqual(at(right.body, 'details'), {
    name: 'one',
    kind: 'configmaps',
    uid: at(first, 'metadata', 'uid'),
  });
  assert.equal((await call(server, 'DELETE', `${configMaps}/one`)).status, 404);

  const held = configMap('held');
  await call(server, 'POST', configMaps, {
    body: { ...held, metadata: { ...held.metadata, finalizers: ['example.com/hold'] } },
  });
  const marked = await call(server, 'DELETE', `${configMaps}/held`);
  assert.ok(at(marked.body, 'metadata', 'deletionTimestamp'));
  await call(server, 'PATCH', `${configMaps}/held`, {
    body: { metadata: { finalizers: null } },
    type: 'application/merge-patch+json',
  });
  assert.equal((await call(server, 'GET', `${configMaps}/held`)).status, 404);
});

test('deletecollection takes what its selector picks', async () => {
  await using server = await startServer();
  for (const name of ['a', 'b', 'c'])
    server.store.create(configMap(name, {}, { keep: name === 'b' ? 'yes' : 'no' }));
  const answer = await call(server, 'DELETE', `${configMaps}?labelSelector=keep%3Dno`);
  assert.deepEqual(
    listAt(answer.body, 'items').map((item) => at(item, 'metadata', 'name')),
    ['a', 'c'],
  );
  const left = await call(server, 'GET', configMaps);
  assert.deepEqual(
    listAt(left.body, 'items').map((item) => at(item, 'metadata', 'name')),
    ['b'],
  );
});

test('a body above 3 MiB is refused with 413, and one of a wrong type with 415', async () => {
  await using server = await startServer();
  const large = await call(server, 'POST', configMaps, {
    body: configMap('one', { a: 'x'.repeat(3 * 1024 * 1024) }),
  });
  assert.deepEqual([large.status, at(large.body, 'reason')], [413, 'RequestEntityTooLarge']);
  const odd = await call(server, 'POST', configMaps, { body: {}, type: 'text/csv' });
  assert.deepEqual([odd.status, at(odd.body, 'reason')], [415, 'UnsupportedMediaType']);
  const broken = await call(server, 'POST', configMaps, { body: new Uint8Array([0x7b]) });
  assert.deepEqual([broken.status, at(broken.body, 'reason')], [400, 'BadRequest']);
});

test('stringData of a secret ends up in data, in base64', async () => {
  await using server = await startServer();
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's' },
    stringData: { key: 'value' },
    data: { other: 'eA==' },
  };
  const { body: created } = await call(server, 'POST', '/api/v1/namespaces/default/secrets', { body });
  assert.deepEqual(
    [at(created, 'data'), at(created, 'stringData'), at(created, 'type')],
    [{ key: 'dmFsdWU=', other: 'eA==' }, undefined, 'Opaque'],
  );
});
