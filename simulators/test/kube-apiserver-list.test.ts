import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listAt, objectAt, textAt } from '../src/kube-apiserver/json.ts';
import type { JsonObject } from '../src/kube-apiserver/json.ts';
import type { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import { call, configMap, configMaps, startServer } from './kube-apiserver-client.ts';

async function names(
  server: KubeApiserver,
  query: string,
): Promise<{ names: string[]; metadata: JsonObject }> {
  const { body } = await call(server, 'GET', `${configMaps}?${query}`);
  return {
    names: listAt(body, 'items').map((item) => textAt(item, 'metadata', 'name')),
    metadata: objectAt(body, 'metadata'),
  };
}

test('a chunked list shows one revision, whatever is written between its chunks', async () => {
  await using server = await startServer();
  for (const name of ['a', 'b', 'c', 'd', 'e']) server.store.create(configMap(name, { step: '1' }));
  const first = await names(server, 'limit=2');
  assert.deepEqual(first.names, ['a', 'b']);
  assert.equal(first.metadata['remainingItemCount'], 3);

  server.store.delete({ apiVersion: 'v1', kind: 'ConfigMap', name: 'c' });
  server.store.create(configMap('cc'));
  server.store.put(configMap('d', { step: '2' }));
  server.store.put(configMap('d', { step: '3' }));
  const { body: second } = await call(
    server,
    'GET',
    `${configMaps}?limit=2&continue=${String(first.metadata['continue'])}`,
  );
  assert.deepEqual(
    listAt(second, 'items').map((item) => [at(item, 'metadata', 'name'), at(item, 'data', 'step')]),
    [
      ['c', '1'],
      ['d', '1'],
    ],
  );
  assert.equal(at(second, 'metadata', 'resourceVersion'), first.metadata['resourceVersion']);
  const third = await names(server, `limit=2&continue=${textAt(second, 'metadata', 'continue')}`);
  assert.deepEqual(third.names, ['e']);
  assert.equal(third.metadata['continue'], undefined);
});

test('a continue token from before a compaction is expired with 410, and one that is none is a bad request', async () => {
  await using server = await startServer();
  for (const name of ['a', 'b']) server.store.create(configMap(name));
  const { metadata } = await names(server, 'limit=1');
  server.store.create(configMap('c'));
  server.store.compact();
  const expired = await call(server, 'GET', `${configMaps}?limit=1&continue=${String(metadata['continue'])}`);
  assert.deepEqual([expired.status, at(expired.body, 'reason')], [410, 'Expired']);
  const odd = await call(server, 'GET', `${configMaps}?limit=1&continue=nonsense`);
  assert.deepEqual([odd.status, at(odd.body, 'reason')], [400, 'BadRequest']);
});

test('a list can be asked for at an exact revision, and one from the future is not there yet', async () => {
  await using server = await startServer();
  server.store.create(configMap('a'));
  const then = server.store.revision;
  server.store.create(configMap('b'));
  assert.deepEqual((await names(server, `resourceVersion=${then}&resourceVersionMatch=Exact`)).names, ['a']);
  assert.deepEqual((await names(server, `resourceVersion=${then}&resourceVersionMatch=NotOlderThan`)).names, [
    'a',
    'b',
  ]);
  const future = await call(server, 'GET', `${configMaps}?resourceVersion=${then + 1000}`);
  assert.deepEqual(
    [future.status, at(future.body, 'details', 'causes', 0, 'reason')],
    [504, 'ResourceVersionTooLarge'],
  );
});

test('a list is in the order of names, of one namespace or of all', async () => {
  await using server = await startServer();
  for (const [namespace, name] of [
    ['kube-system', 'a'],
    ['default', 'b'],
    ['default', 'a-b'],
    ['default', 'a'],
  ] as const) {
    server.store.create({ ...configMap(name), metadata: { name, namespace } });
  }
  assert.deepEqual((await names(server, '')).names, ['a', 'a-b', 'b']);
  const { body } = await call(server, 'GET', '/api/v1/configmaps');
  assert.deepEqual(
    listAt(body, 'items').map((item) => at(item, 'metadata', 'namespace')),
    ['default', 'default', 'default', 'kube-system'],
  );
});

test('label and field selectors narrow a list, and a field that is not offered is refused', async () => {
  await using server = await startServer();
  server.store.create(configMap('a', {}, { tier: 'front', size: '3' }));
  server.store.create(configMap('b', {}, { tier: 'back' }));
  server.store.create(configMap('c'));
  const select = async (selector: string): Promise<string[]> =>
    (await names(server, new URLSearchParams({ labelSelector: selector }).toString())).names;
  assert.deepEqual(await select('tier=front'), ['a']);
  assert.deepEqual(await select('tier!=front'), ['b', 'c']);
  assert.deepEqual(await select('tier in (front, back),!size'), ['b']);
  assert.deepEqual((await names(server, 'fieldSelector=metadata.name%3Db')).names, ['b']);
  const refused = await call(server, 'GET', `${configMaps}?fieldSelector=data.x%3Db`);
  assert.deepEqual([refused.status, at(refused.body, 'message')], [400, 'field label not supported: data.x']);
});

test('items of a list carry no kind, as from the real server, and metadata alone can be asked for', async () => {
  await using server = await startServer();
  server.store.create(configMap('a', { big: 'data' }));
  const { body } = await call(server, 'GET', configMaps);
  assert.deepEqual(
    [at(body, 'kind'), at(body, 'apiVersion'), at(body, 'items', 0, 'kind')],
    ['ConfigMapList', 'v1', undefined],
  );
  const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
  const { body: partial } = await call(server, 'GET', configMaps, { headers: { accept } });
  assert.deepEqual(
    [at(partial, 'kind'), at(partial, 'items', 0, 'kind'), at(partial, 'items', 0, 'data')],
    ['PartialObjectMetadataList', 'PartialObjectMetadata', undefined],
  );
});
