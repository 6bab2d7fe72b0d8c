import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import { openApiIndex } from '../openapi-index.ts';
import { call } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';
import { until } from '../until.ts';
import { crdOf, definitions, v1, withWidgets } from '../widgets.ts';
import type { Served } from '../widgets.ts';

function widget(group: string, name: string, spec: unknown) {
  return { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name }, spec };
}

async function create(target: Target, { path, group }: Served, name: string, spec: unknown): Promise<Answer> {
  return call(target, 'POST', path, { body: widget(group, name, spec) });
}

export const customResourceCases: readonly ConformanceCase[] = [
  {
    name: 'a definition that is established is in discovery with its names, verbs and subresources, and in OpenAPI v3',
    run: async (target) =>
      withWidgets(target, 'discovery.example.com', async ({ group }) => {
        const { body } = await call(target, 'GET', `/apis/${group}/v1`);
        assert.deepEqual(
          listAt(body, 'resources')
            .map((resource) => textAt(resource, 'name'))
            .toSorted(),
          ['widgets', 'widgets/scale', 'widgets/status'],
        );
        const widgets = objectAt(
          listAt(body, 'resources').find((resource) => at(resource, 'name') === 'widgets'),
        );
        assert.deepEqual(
          ['kind', 'singularName', 'shortNames', 'categories'].map((field) => widgets[field]),
          ['Widget', 'widget', ['wd'], ['things']],
        );
        await until(async () => {
          return Object.hasOwn(objectAt(await openApiIndex(target), 'paths'), `apis/${group}/v1`);
        });
        const document = await call(target, 'GET', `/openapi/v3/apis/${group}/v1`);
        assert.deepEqual(
          at(
            document.body,
            'components',
            'schemas',
            'com.example.discovery.v1.Widget',
            'x-kubernetes-group-version-kind',
          ),
          [{ group, version: 'v1', kind: 'Widget' }],
        );
      }),
  },
  {
    name: 'a custom resource gets defaults, also in items, and loses fields that its schema does not have',
    run: async (target) =>
      withWidgets(target, 'defaults.example.com', async (served) => {
        const made = await create(target, served, 'a', {
          image: 'x',
          odd: 1,
          port: '80%',
          free: { any: { thing: 1 } },
          parts: [{ name: 'p', odd: 1 }],
        });
        assert.deepEqual(at(made.body, 'spec'), {
          image: 'x',
          replicas: 1,
          port: '80%',
          free: { any: { thing: 1 } },
          parts: [{ name: 'p', size: 3 }],
        });
        assert.match(made.headers.get('warning') ?? '', /unknown field \\"spec\.odd\\"/);
        const strict = await call(target, 'POST', `${served.path}?fieldValidation=Strict`, {
          body: widget(served.group, 'b', { image: 'x', odd: 1 }),
        });
        assert.equal(strict.status, 400);
        assert.match(textAt(strict.body, 'message'), /strict decoding error: unknown field "spec\.odd"$/);
      }),
  },
  {
    name: 'a custom resource that breaks its schema is 422, with a cause for each fault',
    run: async (target) =>
      withWidgets(target, 'validation.example.com', async (served) => {
        const refused = async (spec: unknown): Promise<readonly string[]> => {
          const answer = await create(target, served, 'a', spec);
          assert.deepEqual([answer.status, at(answer.body, 'reason')], [422, 'Invalid']);
          return listAt(answer.body, 'details', 'causes').map(
            (cause) => `${textAt(cause, 'field')}: ${textAt(cause, 'message')}`,
          );
        };
        assert.deepEqual(await refused({}), ['spec.image: Required value']);
        assert.deepEqual(await refused({ image: 'x', replicas: 11 }), [
          'spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10',
        ]);
        assert.deepEqual(await refused({ image: 'X' }), [
          `spec.image: Invalid value: "X": spec.image in body should match '^[a-z]+$'`,
        ]);
        assert.deepEqual(await refused({ image: 'x', mode: 'Other' }), [
          'spec.mode: Unsupported value: "Other": supported values: "Fast", "Slow"',
        ]);
        assert.deepEqual(await refused({ image: 'x', replicas: 'many' }), [
          'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"',
          '.spec.replicas: Invalid value: 0: .spec.replicas accessor error: many is of the type string, expected int64',
        ]);
        assert.deepEqual(await refused({ image: 'x', parts: [{ name: 'p' }, { name: 'p' }] }), [
          'spec.parts[1]: Duplicate value: {"name":"p"}',
        ]);
      }),
  },
  {
    name: 'status and scale of a custom resource are written apart, and only what is wanted counts as a generation',
    run: async (target) =>
      withWidgets(target, 'status.example.com', async (served) => {
        const made = await create(target, served, 'a', { image: 'x' });
        assert.equal(at(made.body, 'metadata', 'generation'), 1);
        const type = 'application/merge-patch+json';
        const status = await call(target, 'PATCH', `${served.path}/a/status`, {
          type,
          body: { spec: { image: 'y' }, status: { replicas: 4, selector: 'a=b' } },
        });
        assert.deepEqual(
          [
            at(status.body, 'spec', 'image'),
            at(status.body, 'status', 'replicas'),
            at(status.body, 'metadata', 'generation'),
          ],
          ['x', 4, 1],
        );
        const scale = await call(target, 'PATCH', `${served.path}/a/scale`, {
          type,
          body: { spec: { replicas: 5 } },
        });
        assert.deepEqual(
          [
            at(scale.body, 'spec', 'replicas'),
            at(scale.body, 'status', 'replicas'),
            at(scale.body, 'status', 'selector'),
          ],
          [5, 4, 'a=b'],
        );
        const live = await call(target, 'GET', `${served.path}/a`);
        assert.deepEqual(
          [at(live.body, 'spec', 'replicas'), at(live.body, 'metadata', 'generation')],
          [5, 2],
        );
      }),
  },
  {
    name: 'the table of a custom resource has the columns of its definition',
    run: async (target) =>
      withWidgets(target, 'table.example.com', async (served) => {
        await create(target, served, 'a', { image: 'x' });
        const { body } = await call(target, 'GET', served.path, {
          headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
        });
        assert.deepEqual(
          listAt(body, 'columnDefinitions').map((column) => [at(column, 'name'), at(column, 'priority')]),
          [
            ['Name', 0],
            ['Image', 0],
            ['Replicas', 1],
            ['Age', 0],
          ],
        );
        assert.deepEqual(listAt(body, 'rows', 0, 'cells').slice(0, 3), ['a', 'x', 1]);
      }),
  },
  {
    name: 'a custom resource is the same object in each of its versions',
    run: async (target) =>
      withWidgets(
        target,
        'versions.example.com',
        async (served) => {
          await create(target, served, 'a', { image: 'x' });
          const path = served.path.replace('/v1/', '/v2/');
          const other = await call(target, 'GET', `${path}/a`);
          assert.deepEqual(
            [at(other.body, 'apiVersion'), at(other.body, 'spec', 'image')],
            ['versions.example.com/v2', 'x'],
          );
          await call(target, 'PATCH', `${path}/a`, {
            type: 'application/merge-patch+json',
            body: { spec: { image: 'y' } },
          });
          const list = await call(target, 'GET', served.path);
          assert.deepEqual(
            [at(list.body, 'items', 0, 'apiVersion'), at(list.body, 'items', 0, 'spec', 'image')],
            ['versions.example.com/v1', 'y'],
          );
          const groups = await call(target, 'GET', '/apis/versions.example.com');
          assert.equal(at(groups.body, 'preferredVersion', 'version'), 'v2');
        },
        [v1, { ...v1, name: 'v2', storage: false }],
      ),
  },
  {
    name: 'an update of a custom resource, or of a definition, has to name its version',
    run: async (target) =>
      withWidgets(target, 'versioned.example.com', async (served) => {
        const created = await create(target, served, 'a', { image: 'x' });
        const path = `${served.path}/a`;
        const blind = await call(target, 'PUT', path, { body: widget(served.group, 'a', { image: 'y' }) });
        assert.deepEqual(
          [blind.status, at(blind.body, 'details', 'causes', 0, 'field')],
          [422, 'metadata.resourceVersion'],
        );
        const body = { ...objectAt(created.body), spec: { image: 'y' } };
        assert.equal((await call(target, 'PUT', path, { body })).status, 200);
        const definition = await call(target, 'PUT', served.crd, { body: crdOf(served.group, [v1]) });
        assert.deepEqual(
          [definition.status, at(definition.body, 'details', 'causes', 0, 'field')],
          [422, 'metadata.resourceVersion'],
        );
      }),
  },
  {
    name: 'custom resources are applied and merge patched, and take no strategic merge patch',
    run: async (target) =>
      withWidgets(target, 'patch.example.com', async (served) => {
        const applied = await call(target, 'PATCH', `${served.path}/a?fieldManager=one`, {
          type: 'application/apply-patch+yaml',
          body: widget(served.group, 'a', { image: 'x', parts: [{ name: 'p' }] }),
        });
        assert.equal(applied.status, 201);
        assert.deepEqual(at(applied.body, 'metadata', 'managedFields', 0, 'fieldsV1'), {
          'f:spec': {
            'f:image': {},
            'f:parts': { 'k:{"name":"p"}': { '.': {}, 'f:name': {} } },
          },
        });
        const strategic = await call(target, 'PATCH', `${served.path}/a`, {
          type: 'application/strategic-merge-patch+json',
          body: {},
        });
        assert.equal(strategic.status, 415);
      }),
  },
  {
    name: 'with its definition a kind and its objects are gone',
    run: async (target) => {
      let path = '';
      await withWidgets(target, 'gone.example.com', async (served) => {
        ({ path } = served);
        await create(target, served, 'a', { image: 'x' });
      });
      await until(async () => (await call(target, 'GET', path)).status === 404);
      await withWidgets(target, 'gone.example.com', async (served) => {
        assert.deepEqual(at((await call(target, 'GET', served.path)).body, 'items'), []);
      });
    },
  },
  {
    name: 'a definition has to be structural, and named by its plural and group',
    run: async (target) => {
      const untyped = { ...v1, schema: { openAPIV3Schema: { type: 'object', properties: { spec: {} } } } };
      const refused = await call(target, 'POST', definitions, { body: crdOf('bad.example.com', [untyped]) });
      assert.equal(refused.status, 422);
      assert.match(
        textAt(refused.body, 'message'),
        /spec\.validation\.openAPIV3Schema\.properties\[spec\]\.type: Required value: must not be empty for specified object fields/,
      );
      const misnamed = { ...crdOf('bad.example.com', [v1]), metadata: { name: 'widgets' } };
      assert.equal((await call(target, 'POST', definitions, { body: misnamed })).status, 422);
    },
  },
];
