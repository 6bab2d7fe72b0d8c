import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, objectAt } from '../src/kube-apiserver/json.ts';
import type { Json, JsonObject } from '../src/kube-apiserver/json.ts';
import { applyJsonPatch } from '../src/kube-apiserver/patch/json-patch.ts';
import { applyMergePatch } from '../src/kube-apiserver/patch/merge-patch.ts';
import { mergeSchemaOf } from '../src/kube-apiserver/patch/merge-schema.ts';
import { podSchema as podType } from '../src/kube-apiserver/schema/pod-schema.ts';
import { deploymentSchema } from '../src/kube-apiserver/schema/workload-schema.ts';

const podSchema = mergeSchemaOf(podType);
const workloadSchema = mergeSchemaOf(deploymentSchema);
import { applyStrategicMergePatch } from '../src/kube-apiserver/patch/strategic-merge-patch.ts';
import { call, pod, startServer } from './kube-apiserver-client.ts';

test('a JSON patch does what RFC 6902 says, on objects, lists and escaped names', () => {
  const cases: readonly (readonly [document: Json, patch: Json, result: Json])[] = [
    [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    [{ a: 1, b: 2 }, [{ op: 'remove', path: '/b' }], { a: 1 }],
    [{ a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
    [{ a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: 2 }], { a: { b: 2 } }],
    [{ a: 1 }, [{ op: 'replace', path: '/b', value: 2 }], { a: 1, b: 2 }],
    [{ a: 1 }, [{ op: 'test', path: '/b', value: null }], { a: 1 }],
    [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
    [{ a: { b: 1 } }, [{ op: 'copy', from: '/a/b', path: '/c' }], { a: { b: 1 }, c: 1 }],
    [{ 'x/y': { 'm~n': 1 } }, [{ op: 'replace', path: '/x~1y/m~0n', value: 2 }], { 'x/y': { 'm~n': 2 } }],
    [
      { a: 1 },
      [
        { op: 'test', path: '/a', value: 1 },
        { op: 'replace', path: '', value: { b: 1 } },
      ],
      { b: 1 },
    ],
  ];
  for (const [document, patch, result] of cases) assert.deepEqual(applyJsonPatch(document, patch), result);
});

test('a JSON patch that cannot be done is unprocessable', () => {
  const impossible: readonly Json[] = [
    { op: 'remove', path: '/none' },
    { op: 'replace', path: '/none/deep', value: 1 },
    { op: 'test', path: '/none/deep', value: null },
    { op: 'move', from: '/none', path: '/b' },
    { op: 'add', path: '/none/deep', value: 1 },
    { op: 'add', path: '/list/9', value: 1 },
    { op: 'add', path: '/list/01', value: 1 },
    { op: 'test', path: '/a', value: 2 },
    { op: 'fly', path: '/a' },
    { op: 'add', path: 'a', value: 1 },
  ];
  for (const operation of impossible) {
    assert.throws(
      () => applyJsonPatch({ a: 1, list: [1] }, [operation]),
      { code: 422 },
      JSON.stringify(operation),
    );
  }
});

test('a merge patch does what RFC 7386 says', () => {
  const cases: readonly (readonly [target: Json, patch: Json, result: Json])[] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  ];
  for (const [target, patch, result] of cases) assert.deepEqual(applyMergePatch(target, patch), result);
});

test('patches cannot reach the prototype', () => {
  const patched = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}'));
  assert.equal(Object.getPrototypeOf(patched), Object.prototype);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

const containers = (...list: JsonObject[]): JsonObject => ({ spec: { containers: list } });

test('a strategic merge patch merges lists by their keys, and replaces those without', () => {
  const cases: readonly (readonly [
    title: string,
    target: JsonObject,
    patch: JsonObject,
    result: JsonObject,
  ])[] = [
    [
      'a container is changed by its name and another added',
      containers({ name: 'a', image: 'one', args: ['x'] }),
      containers({ name: 'a', image: 'two', args: ['y', 'z'] }, { name: 'b', image: 'three' }),
      containers({ name: 'a', image: 'two', args: ['y', 'z'] }, { name: 'b', image: 'three' }),
    ],
    [
      'a container is deleted by its name',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ name: 'a', $patch: 'delete' }),
      containers({ name: 'b' }),
    ],
    [
      'env within a container is merged too',
      containers({
        name: 'a',
        env: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '2' },
        ],
      }),
      containers({
        name: 'a',
        env: [
          { name: 'X', value: '9' },
          { $patch: 'delete', name: 'Y' },
        ],
      }),
      containers({ name: 'a', env: [{ name: 'X', value: '9' }] }),
    ],
    [
      'a list is replaced on request',
      containers({ name: 'a' }, { name: 'b' }),
      { spec: { containers: [{ name: 'c' }, { $patch: 'replace' }] } },
      containers({ name: 'c' }),
    ],
    [
      'a map is replaced on request',
      { metadata: { labels: { a: '1' } } },
      { metadata: { labels: { $patch: 'replace', b: '2' } } },
      { metadata: { labels: { b: '2' } } },
    ],
    [
      'a null deletes',
      { metadata: { labels: { a: '1', b: '2' } } },
      { metadata: { labels: { a: null } } },
      { metadata: { labels: { b: '2' } } },
    ],
    [
      'a set of primitive values is joined, and reduced by its directive',
      { metadata: { finalizers: ['a', 'b'] } },
      { metadata: { finalizers: ['c', 'b'], '$deleteFromPrimitiveList/finalizers': ['a'] } },
      { metadata: { finalizers: ['b', 'c'] } },
    ],
    [
      'tolerations are one value',
      { spec: { tolerations: [{ key: 'a' }] } },
      { spec: { tolerations: [{ key: 'b' }] } },
      { spec: { tolerations: [{ key: 'b' }] } },
    ],
    [
      'the order of the directive holds',
      containers({ name: 'a' }, { name: 'b' }),
      {
        spec: {
          $setElementOrder: null,
          '$setElementOrder/containers': [{ name: 'c' }, { name: 'b' }, { name: 'a' }],
          containers: [{ name: 'c' }],
        },
      },
      containers({ name: 'c' }, { name: 'b' }, { name: 'a' }),
    ],
  ];
  for (const [title, target, patch, result] of cases)
    assert.deepEqual(applyStrategicMergePatch(target, patch, podSchema), result, title);
});

test('$retainKeys drops what the new form of a union does not name', () => {
  const target = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } };
  const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } };
  assert.deepEqual(applyStrategicMergePatch(target, patch, workloadSchema), {
    spec: { strategy: { type: 'Recreate' } },
  });
});

test('a patch of one field of a pod leaves the others as they were', async () => {
  await using server = await startServer();
  const path = '/api/v1/namespaces/default/pods';
  const { body: before } = await call(server, 'POST', path, { body: pod('one') });
  const body = { spec: { containers: [{ name: 'main', image: 'image:2' }] } };
  const { body: after } = await call(server, 'PATCH', `${path}/one`, {
    type: 'application/strategic-merge-patch+json',
    body,
  });
  assert.deepEqual(at(after, 'spec', 'containers'), [
    { ...objectAt(before, 'spec', 'containers', 0), image: 'image:2' },
  ]);
});
