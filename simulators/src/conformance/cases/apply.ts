import assert from 'node:assert/strict';
import { at, listAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { configMap, configMapsIn, deployment, deploymentsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';

const mergePatch = 'application/merge-patch+json';

/** Owned fields by manager, as FieldsV1. */
function owned(answer: Answer): Readonly<Record<string, unknown>> {
  const name = (entry: Json): string =>
    ['manager', 'operation', 'subresource'].flatMap((field) => textAt(entry, field) || []).join(' ');
  return Object.fromEntries(
    listAt(answer.body, 'metadata', 'managedFields').map((entry) => [name(entry), at(entry, 'fieldsV1')]),
  );
}

async function apply(
  target: Target,
  path: string,
  manager: string,
  body: unknown,
  force = false,
): Promise<Answer> {
  const query = `fieldManager=${manager}${force ? '&force=true' : ''}`;
  return call(target, 'PATCH', `${path}?${query}`, { type: 'application/apply-patch+yaml', body });
}

export const applyCases: readonly ConformanceCase[] = [
  {
    name: 'apply creates with 201, and a second equal apply changes nothing, not even the resourceVersion',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        const first = await apply(target, path, 'one', configMap('a', { x: '1' }));
        assert.equal(first.status, 201);
        assert.deepEqual(owned(first), { 'one Apply': { 'f:data': { 'f:x': {} } } });
        const second = await apply(target, path, 'one', configMap('a', { x: '1' }));
        assert.deepEqual([second.status, at(second.body, 'metadata')], [200, at(first.body, 'metadata')]);
      }),
  },
  {
    name: 'apply takes the field manager from the query only: without one it is 422',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const refused = await call(target, 'PATCH', `${configMapsIn(namespace)}/a`, {
          type: 'application/apply-patch+yaml',
          body: configMap('a', {}),
        });
        assert.deepEqual(
          [refused.status, at(refused.body, 'message')],
          [
            422,
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
          ],
        );
      }),
  },
  {
    name: 'apply removes what the manager no longer says, unless somebody else owns it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        await apply(target, path, 'one', configMap('a', { mine: '1', ours: '2', kept: '3' }));
        await apply(target, path, 'two', configMap('a', { ours: '2' }));
        const last = await apply(target, path, 'one', configMap('a', { kept: '3' }));
        assert.deepEqual(at(last.body, 'data'), { kept: '3', ours: '2' });
        assert.deepEqual(owned(last), {
          'one Apply': { 'f:data': { 'f:kept': {} } },
          'two Apply': { 'f:data': { 'f:ours': {} } },
        });
      }),
  },
  {
    name: 'apply of another value than an applier’s is 409 and names field and manager; force takes the field over',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        await apply(target, path, 'one', configMap('a', { x: '1', y: '1' }));
        const single = await apply(target, path, 'two', configMap('a', { x: '2' }));
        assert.deepEqual([single.status, at(single.body, 'reason')], [409, 'Conflict']);
        assert.equal(
          at(single.body, 'message'),
          'Apply failed with 1 conflict: conflict with "one": .data.x',
        );
        assert.deepEqual(at(single.body, 'details', 'causes'), [
          { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.x' },
        ]);
        const both = await apply(target, path, 'two', configMap('a', { x: '2', y: '2' }));
        assert.equal(
          at(both.body, 'message'),
          'Apply failed with 2 conflicts: conflicts with "one":\n- .data.x\n- .data.y',
        );
        const forced = await apply(target, path, 'two', configMap('a', { x: '2' }), true);
        assert.deepEqual(at(forced.body, 'data'), { x: '2', y: '1' });
        assert.deepEqual(owned(forced), {
          'one Apply': { 'f:data': { 'f:y': {} } },
          'two Apply': { 'f:data': { 'f:x': {} } },
        });
      }),
  },
  {
    name: 'an update takes the fields that it changes, and an apply that disagrees is told so with the version',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        await apply(target, path, 'one', configMap('a', { x: '1', y: '1' }));
        const patched = await call(target, 'PATCH', `${path}?fieldManager=editor`, {
          type: mergePatch,
          body: { data: { x: '2' } },
        });
        assert.deepEqual(owned(patched), {
          'one Apply': { 'f:data': { 'f:y': {} } },
          'editor Update': { 'f:data': { 'f:x': {} } },
        });
        const refused = await apply(target, path, 'one', configMap('a', { x: '1', y: '1' }));
        assert.equal(
          at(refused.body, 'message'),
          'Apply failed with 1 conflict: conflict with "editor" using v1: .data.x',
        );
      }),
  },
  {
    name: 'equal values are owned together, and the last owner’s giving up removes them',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        await apply(target, path, 'one', configMap('a', { x: '1' }));
        const shared = await apply(target, path, 'two', configMap('a', { x: '1' }));
        assert.deepEqual(Object.keys(owned(shared)).toSorted(), ['one Apply', 'two Apply']);
        assert.deepEqual(at((await apply(target, path, 'one', configMap('a', {}))).body, 'data'), { x: '1' });
        assert.equal(at((await apply(target, path, 'two', configMap('a', {}))).body, 'data'), undefined);
      }),
  },
  {
    name: 'an update owns what it created with defaults, lists by their keys, and atomic fields as one',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const created = await call(target, 'POST', `${deploymentsIn(namespace)}?fieldManager=maker`, {
          body: deployment('web'),
        });
        assert.deepEqual(owned(created), {
          'maker Update': {
            'f:spec': {
              'f:progressDeadlineSeconds': {},
              'f:replicas': {},
              'f:revisionHistoryLimit': {},
              'f:selector': {},
              'f:strategy': {
                'f:rollingUpdate': { '.': {}, 'f:maxSurge': {}, 'f:maxUnavailable': {} },
                'f:type': {},
              },
              'f:template': {
                'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
                'f:spec': {
                  'f:containers': {
                    'k:{"name":"main"}': {
                      '.': {},
                      'f:image': {},
                      'f:imagePullPolicy': {},
                      'f:name': {},
                      'f:resources': {},
                      'f:terminationMessagePath': {},
                      'f:terminationMessagePolicy': {},
                    },
                  },
                  'f:dnsPolicy': {},
                  'f:restartPolicy': {},
                  'f:schedulerName': {},
                  'f:securityContext': {},
                  'f:terminationGracePeriodSeconds': {},
                },
              },
            },
          },
        });
      }),
  },
  {
    name: 'apply merges containers and ports by their keys, and takes an item away whose only owner drops it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${deploymentsIn(namespace)}/web`;
        const withContainers = (...containers: readonly unknown[]) => {
          const base = deployment('web');
          const { template } = base.spec;
          return { ...base, spec: { ...base.spec, template: { ...template, spec: { containers } } } };
        };
        const main = {
          name: 'main',
          image: 'image:1',
          ports: [{ containerPort: 80 }, { containerPort: 81 }],
        };
        await apply(target, path, 'one', withContainers(main));
        const added = await apply(
          target,
          path,
          'two',
          withContainers({ name: 'side', image: 'side:1' }, { name: 'main', ports: [{ containerPort: 82 }] }),
        );
        const containers = (answer: Answer): readonly Json[] =>
          listAt(answer.body, 'spec', 'template', 'spec', 'containers');
        const names = (answer: Answer): readonly string[] =>
          containers(answer).map((container) => textAt(container, 'name'));
        assert.deepEqual(names(added).toSorted(), ['main', 'side']);
        const ports = (answer: Answer): readonly string[] => {
          const found = containers(answer).find((container) => at(container, 'name') === 'main');
          return listAt(found, 'ports').map((port) => String(at(port, 'containerPort')));
        };
        assert.deepEqual(ports(added).toSorted(), ['80', '81', '82']);
        const fewer = await apply(
          target,
          path,
          'one',
          withContainers({ ...main, ports: [{ containerPort: 81 }] }),
        );
        assert.deepEqual(ports(fewer).toSorted(), ['81', '82']);
        const gone = await apply(target, path, 'two', { apiVersion: 'apps/v1', kind: 'Deployment' });
        assert.deepEqual(names(gone), ['main']);
      }),
  },
  {
    name: 'writes through a subresource are owned apart, under its name',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${deploymentsIn(namespace)}/web`;
        await apply(target, path, 'one', {
          ...deployment('web'),
          spec: { ...deployment('web').spec, replicas: 1 },
        });
        const scaled = await call(target, 'PATCH', `${path}/scale?fieldManager=scaler`, {
          type: mergePatch,
          body: { spec: { replicas: 3 } },
        });
        assert.equal(scaled.status, 200);
        const live = await call(target, 'GET', path);
        assert.deepEqual(owned(live)['scaler Update scale'], { 'f:spec': { 'f:replicas': {} } });
        const refused = await apply(target, path, 'one', {
          ...deployment('web'),
          spec: { ...deployment('web').spec, replicas: 1 },
        });
        assert.equal(
          at(refused.body, 'message'),
          'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas',
        );
        assert.equal(at((await apply(target, path, 'one', deployment('web'))).body, 'spec', 'replicas'), 3);
      }),
  },
  {
    name: 'managedFields cannot be applied; an update may edit them, and one empty entry clears them',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        const created = await apply(target, path, 'one', configMap('a', { x: '1' }));
        const refused = await apply(target, path, 'one', created.body);
        assert.deepEqual(
          [refused.status, at(refused.body, 'message')],
          [400, 'metadata.managedFields must be nil'],
        );
        const cleared = await call(target, 'PATCH', path, {
          type: mergePatch,
          body: { metadata: { managedFields: [{}] } },
        });
        assert.equal(at(cleared.body, 'metadata', 'managedFields'), undefined);
      }),
  },
  {
    name: 'a field that the schema does not have cannot be applied',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const refused = await apply(target, `${configMapsIn(namespace)}/a`, 'one', {
          ...configMap('a', {}),
          date: {},
        });
        assert.equal(refused.status, 500);
        assert.match(
          textAt(refused.body, 'message'),
          /^failed to create typed patch object \(\/a; \/v1, Kind=ConfigMap\): \.date: field not declared in schema$/,
        );
      }),
  },
];
