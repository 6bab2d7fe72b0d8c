import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { configMap, configMapsIn, deployment, deploymentsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';
import { withWidgets } from '../widgets.ts';

const jsonPatch = 'application/json-patch+json';
const mergePatch = 'application/merge-patch+json';
const strategicMergePatch = 'application/strategic-merge-patch+json';

interface Patched {
  readonly path: string;
  readonly patch: (type: string, body: unknown) => Promise<Answer>;
}

/** A config map with this data, to be patched. */
async function withConfigMap(
  target: Target,
  data: Readonly<Record<string, string>>,
  run: (patched: Patched) => Promise<void>,
): Promise<void> {
  await inNamespace(target, async (namespace) => {
    await call(target, 'POST', configMapsIn(namespace), { body: configMap('a', data) });
    const path = `${configMapsIn(namespace)}/a`;
    await run({ path, patch: async (type, body) => call(target, 'PATCH', path, { type, body }) });
  });
}

/** A deployment whose only container has two variables and a port. */
async function withDeployment(target: Target, run: (patched: Patched) => Promise<void>): Promise<void> {
  await inNamespace(target, async (namespace) => {
    const base = deployment('web');
    const main = {
      name: 'main',
      image: 'image:1',
      args: ['a', 'b'],
      env: [
        { name: 'ONE', value: '1' },
        { name: 'TWO', value: '2' },
      ],
      ports: [{ containerPort: 80, name: 'http' }],
    };
    const template = { ...base.spec.template, spec: { containers: [main] } };
    await call(target, 'POST', deploymentsIn(namespace), {
      body: { ...base, spec: { ...base.spec, template } },
    });
    const path = `${deploymentsIn(namespace)}/web`;
    await run({ path, patch: async (type, body) => call(target, 'PATCH', path, { type, body }) });
  });
}

function containers({ body }: Answer): readonly Json[] {
  return listAt(body, 'spec', 'template', 'spec', 'containers');
}

function inTemplate(...list: readonly unknown[]) {
  return { spec: { template: { spec: { containers: list } } } };
}

function names(list: readonly Json[]): readonly string[] {
  return list.map((item) => textAt(item, 'name'));
}

export const patchCases: readonly ConformanceCase[] = [
  {
    name: 'a JSON patch adds, replaces, moves, copies, removes and tests, with escaped names',
    run: async (target) =>
      withConfigMap(target, { a: '1', b: '2' }, async ({ patch }) => {
        const patched = await patch(jsonPatch, [
          { op: 'test', path: '/data/a', value: '1' },
          { op: 'add', path: '/data/c', value: '3' },
          { op: 'replace', path: '/data/a', value: '9' },
          { op: 'copy', from: '/data/c', path: '/data/d' },
          { op: 'move', from: '/data/b', path: '/data/e' },
          { op: 'remove', path: '/data/c' },
          { op: 'add', path: '/metadata/annotations', value: {} },
          { op: 'add', path: '/metadata/annotations/example.com~1note', value: 'x' },
        ]);
        assert.equal(patched.status, 200, textAt(patched.body, 'message'));
        assert.deepEqual(at(patched.body, 'data'), { a: '9', d: '3', e: '2' });
        assert.equal(at(patched.body, 'metadata', 'annotations', 'example.com/note'), 'x');
      }),
  },
  {
    name: 'a JSON patch that fails a test, or names what is not there, is 422 and changes nothing of it',
    run: async (target) =>
      withConfigMap(target, { a: '1' }, async ({ path, patch }) => {
        for (const failing of [
          { op: 'test', path: '/data/a', value: '2' },
          { op: 'remove', path: '/data/none' },
          { op: 'replace', path: '/metadata/labels/none', value: 'x' },
          { op: 'move', from: '/data/none', path: '/data/c' },
        ]) {
          const refused = await patch(jsonPatch, [{ op: 'add', path: '/data/b', value: '2' }, failing]);
          assert.deepEqual([refused.status, at(refused.body, 'reason')], [422, 'Invalid'], failing.op);
        }
        assert.deepEqual(at((await call(target, 'GET', path)).body, 'data'), { a: '1' });
        assert.equal((await patch(jsonPatch, { op: 'add' })).status, 400);
      }),
  },
  {
    name: 'a JSON patch may replace what an object does not have, and test it for null',
    run: async (target) =>
      withConfigMap(target, { a: '1' }, async ({ patch }) => {
        const patched = await patch(jsonPatch, [
          { op: 'test', path: '/data/b', value: null },
          { op: 'replace', path: '/data/b', value: '2' },
        ]);
        assert.deepEqual([patched.status, at(patched.body, 'data')], [200, { a: '1', b: '2' }]);
      }),
  },
  {
    name: 'a merge patch sets what it says, removes what it says null of, and leaves the rest',
    run: async (target) =>
      withConfigMap(target, { a: '1', b: '2' }, async ({ patch }) => {
        const patched = await patch(mergePatch, {
          metadata: { annotations: { note: 'x' } },
          data: { a: null, c: '3' },
        });
        assert.deepEqual(
          [patched.status, at(patched.body, 'data'), at(patched.body, 'metadata', 'annotations')],
          [200, { b: '2', c: '3' }, { note: 'x' }],
        );
        const emptied = await patch(mergePatch, { data: null });
        assert.deepEqual([emptied.status, at(emptied.body, 'data')], [200, undefined]);
      }),
  },
  {
    name: 'a merge patch replaces lists as a whole',
    run: async (target) =>
      withDeployment(target, async ({ patch }) => {
        const patched = await patch(mergePatch, inTemplate({ name: 'side', image: 'side:1' }));
        assert.deepEqual(names(containers(patched)), ['side']);
      }),
  },
  {
    name: 'a strategic merge patch merges lists by their keys, and replaces those that have none',
    run: async (target) =>
      withDeployment(target, async ({ patch }) => {
        const patched = await patch(
          strategicMergePatch,
          inTemplate(
            { name: 'side', image: 'side:1' },
            {
              name: 'main',
              args: ['c'],
              env: [
                { name: 'TWO', value: '22' },
                { name: 'THREE', value: '3' },
              ],
            },
          ),
        );
        assert.equal(patched.status, 200, textAt(patched.body, 'message'));
        assert.deepEqual(names(containers(patched)).toSorted(), ['main', 'side']);
        const main = objectAt(containers(patched).find((container) => textAt(container, 'name') === 'main'));
        assert.deepEqual([main['image'], main['args']], ['image:1', ['c']]);
        assert.deepEqual(
          new Map(listAt(main, 'env').map((variable) => [at(variable, 'name'), at(variable, 'value')])),
          new Map([
            ['THREE', '3'],
            ['ONE', '1'],
            ['TWO', '22'],
          ]),
        );
        assert.equal(at(main, 'ports', 0, 'containerPort'), 80);
      }),
  },
  {
    name: 'a strategic merge patch deletes and replaces by directive, and puts lists in the order that it names',
    run: async (target) =>
      withDeployment(target, async ({ patch }) => {
        const removed = await patch(
          strategicMergePatch,
          inTemplate({ name: 'main', env: [{ name: 'ONE', $patch: 'delete' }] }),
        );
        assert.deepEqual(names(listAt(containers(removed)[0], 'env')), ['TWO']);
        const ordered = await patch(
          strategicMergePatch,
          inTemplate({
            name: 'main',
            '$setElementOrder/env': [{ name: 'ZERO' }, { name: 'TWO' }],
            env: [{ name: 'ZERO', value: '0' }],
          }),
        );
        assert.deepEqual(names(listAt(containers(ordered)[0], 'env')), ['ZERO', 'TWO']);
        const replaced = await patch(
          strategicMergePatch,
          inTemplate({ name: 'side', image: 'side:1' }, { $patch: 'replace' }),
        );
        assert.deepEqual(names(containers(replaced)), ['side']);
        const strategy = await patch(strategicMergePatch, {
          spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
        });
        assert.deepEqual(at(strategy.body, 'spec', 'strategy'), { type: 'Recreate' });
      }),
  },
  {
    name: 'a patch that names an old version is a conflict, one that renames is 400, and one of what is not there is 404',
    run: async (target) =>
      withConfigMap(target, { a: '1' }, async ({ path, patch }) => {
        const { body } = await call(target, 'GET', path);
        await patch(mergePatch, { data: { a: '2' } });
        const resourceVersion = at(body, 'metadata', 'resourceVersion');
        const stale = await patch(mergePatch, { metadata: { resourceVersion }, data: { a: '3' } });
        assert.deepEqual([stale.status, at(stale.body, 'reason')], [409, 'Conflict']);
        assert.equal((await patch(mergePatch, { metadata: { name: 'b' } })).status, 400);
        const none = await call(target, 'PATCH', `${path}-none`, { type: mergePatch, body: {} });
        assert.deepEqual([none.status, at(none.body, 'reason')], [404, 'NotFound']);
      }),
  },
  {
    name: 'a patch of a type that is none is 415, for a custom resource with those that there are; the kinds of patch are told apart by it',
    run: async (target) =>
      withConfigMap(target, { a: '1' }, async ({ patch }) => {
        const refused = await patch('application/json', { data: { a: '2' } });
        assert.deepEqual([refused.status, at(refused.body, 'reason')], [415, 'UnsupportedMediaType']);
        assert.equal(at(refused.body, 'message'), '415: Unsupported Media Type');
        assert.equal((await patch(mergePatch, [])).status, 400);
        await withWidgets(target, 'patches.example.com', async ({ path, group }) => {
          const body = {
            apiVersion: `${group}/v1`,
            kind: 'Widget',
            metadata: { name: 'a' },
            spec: { image: 'x' },
          };
          await call(target, 'POST', path, { body });
          const strategic = await call(target, 'PATCH', `${path}/a`, { type: strategicMergePatch, body: {} });
          assert.equal(strategic.status, 415);
          for (const type of [jsonPatch, mergePatch, 'application/apply-patch+yaml'])
            assert.ok(textAt(strategic.body, 'message').includes(type), type);
        });
      }),
  },
  {
    name: 'a patch that changes nothing makes no new version',
    run: async (target) =>
      withConfigMap(target, { a: '1' }, async ({ path, patch }) => {
        const { body } = await call(target, 'GET', path);
        for (const type of [mergePatch, strategicMergePatch]) {
          const same = await patch(type, { data: { a: '1' } });
          assert.deepEqual(at(same.body, 'metadata'), at(body, 'metadata'));
        }
      }),
  },
];
