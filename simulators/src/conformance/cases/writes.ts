import assert from 'node:assert/strict';
import { at, listAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { grant, untilAllowed } from '../granting.ts';
import { configMap, configMapsIn, deployment, deploymentsIn, podsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';

function fieldsOfCauses({ body }: Answer): readonly string[] {
  return listAt(body, 'details', 'causes').map((cause) => textAt(cause, 'field'));
}

async function create(target: Target, path: string, body: unknown): Promise<Json> {
  const created = await call(target, 'POST', path, { body });
  assert.equal(created.status, 201, textAt(created.body, 'message'));
  return created.body;
}

export const writeCases: readonly ConformanceCase[] = [
  {
    name: 'a created object gets a uid, a creation time and a resourceVersion, and its namespace from the path',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const body = await create(target, configMapsIn(namespace), configMap('a', { x: '1' }));
        assert.match(textAt(body, 'metadata', 'uid'), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        assert.match(textAt(body, 'metadata', 'creationTimestamp'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        assert.match(textAt(body, 'metadata', 'resourceVersion'), /^[1-9]\d*$/);
        assert.equal(at(body, 'metadata', 'namespace'), namespace);
        const found = await call(target, 'GET', `${configMapsIn(namespace)}/a`);
        assert.deepEqual(found.body, body);
      }),
  },
  {
    name: 'a name that is taken is 409 AlreadyExists, and what has it stays as it was',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        await create(target, path, configMap('a', { x: '1' }));
        const again = await call(target, 'POST', path, { body: configMap('a', { x: '2' }) });
        assert.equal(again.status, 409);
        assert.deepEqual(
          ['kind', 'apiVersion', 'status', 'reason', 'message', 'details', 'code'].map((field) =>
            at(again.body, field),
          ),
          [
            'Status',
            'v1',
            'Failure',
            'AlreadyExists',
            'configmaps "a" already exists',
            { name: 'a', kind: 'configmaps' },
            409,
          ],
        );
        assert.deepEqual(at((await call(target, 'GET', `${path}/a`)).body, 'data'), { x: '1' });
      }),
  },
  {
    name: 'generateName makes a name that is new each time; a name beside it wins; neither is 422',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const make = async (metadata: unknown) =>
          call(target, 'POST', path, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata } });
        const made = await Promise.all([1, 2, 3].map(async () => make({ generateName: 'part-' })));
        const names = made.map(({ body }) => textAt(body, 'metadata', 'name'));
        for (const name of names) assert.match(name, /^part-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
        assert.equal(new Set(names).size, 3);
        assert.equal(at(made[0]?.body, 'metadata', 'generateName'), 'part-');
        const named = await make({ generateName: 'part-', name: 'own' });
        assert.equal(at(named.body, 'metadata', 'name'), 'own');
        const nameless = await make({});
        assert.deepEqual([nameless.status, fieldsOfCauses(nameless)], [422, ['metadata.name']]);
      }),
  },
  {
    name: 'an object that breaks the rules is 422 with a cause for each fault, by field and reason',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const containers = [
          { name: 'main', image: 'image:1' },
          { name: 'main', image: 'image:1' },
          { name: 'Odd' },
        ];
        const refused = await call(target, 'POST', podsIn(namespace), {
          body: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers } },
        });
        assert.deepEqual(
          [refused.status, at(refused.body, 'reason'), at(refused.body, 'details', 'kind')],
          [422, 'Invalid', 'Pod'],
        );
        const told = new Map(
          listAt(refused.body, 'details', 'causes').map((cause) => [at(cause, 'field'), at(cause, 'reason')]),
        );
        assert.equal(told.get('spec.containers[1].name'), 'FieldValueDuplicate');
        assert.equal(told.get('spec.containers[2].name'), 'FieldValueInvalid');
        assert.equal(told.get('spec.containers[2].image'), 'FieldValueRequired');
        assert.match(textAt(refused.body, 'message'), /^Pod "a" is invalid: \[spec\.containers\[1\]\.name: /);
        const name = await call(target, 'POST', configMapsIn(namespace), {
          body: configMap('Not_A_Name', {}),
        });
        assert.deepEqual([name.status, fieldsOfCauses(name)], [422, ['metadata.name']]);
        assert.match(textAt(name.body, 'message'), /a lowercase RFC 1123 subdomain must consist of/);
      }),
  },
  {
    name: 'a field that is immutable is 422 when an update changes it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = deploymentsIn(namespace);
        await create(target, path, deployment('web'));
        const other = deployment('other');
        const changed = { ...other, metadata: { name: 'web' } };
        const refused = await call(target, 'PUT', `${path}/web`, { body: changed });
        assert.equal(refused.status, 422);
        assert.ok(fieldsOfCauses(refused).includes('spec.selector'));
        assert.match(textAt(refused.body, 'message'), /spec\.selector: Invalid value: .*field is immutable/);
      }),
  },
  {
    name: 'an update of an old version is a conflict; one that names no version wins; one that changes nothing is no new version',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        const first = await create(target, configMapsIn(namespace), configMap('a', { x: '1' }));
        const put = async (data: unknown, metadata: Json | undefined) =>
          call(target, 'PUT', path, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } });
        const second = await put({ x: '2' }, at(first, 'metadata'));
        assert.equal(second.status, 200);
        const stale = await put({ x: '3' }, at(first, 'metadata'));
        assert.deepEqual(
          [stale.status, at(stale.body, 'reason'), at(stale.body, 'message')],
          [
            409,
            'Conflict',
            'Operation cannot be fulfilled on configmaps "a": the object has been modified; ' +
              'please apply your changes to the latest version and try again',
          ],
        );
        const blind = await put({ x: '4' }, { name: 'a' });
        assert.deepEqual([blind.status, at(blind.body, 'data')], [200, { x: '4' }]);
        assert.equal(at(blind.body, 'metadata', 'uid'), at(first, 'metadata', 'uid'));
        const same = await put({ x: '4' }, at(blind.body, 'metadata'));
        assert.equal(
          at(same.body, 'metadata', 'resourceVersion'),
          at(blind.body, 'metadata', 'resourceVersion'),
        );
      }),
  },
  {
    name: 'an update with another uid is a conflict: it is meant for an object that is gone; a patch cannot change it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        await create(target, configMapsIn(namespace), configMap('a', {}));
        const metadata = { name: 'a', uid: crypto.randomUUID() };
        const put = await call(target, 'PUT', path, { body: { ...configMap('a', { x: '1' }), metadata } });
        assert.deepEqual([put.status, at(put.body, 'reason')], [409, 'Conflict']);
        const patched = await call(target, 'PATCH', path, {
          type: 'application/merge-patch+json',
          body: { metadata },
        });
        assert.deepEqual([patched.status, at(patched.body, 'reason')], [422, 'Invalid']);
        assert.equal(at(patched.body, 'details', 'causes', 0, 'field'), 'metadata.uid');
      }),
  },
  {
    name: 'what does not fit the path is refused: other names, namespaces, kinds, and places that are not there',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        await create(target, path, configMap('a', {}));
        const status = async (method: string, to: string, body?: unknown) =>
          (await call(target, method, to, body === undefined ? {} : { body })).status;
        assert.equal(await status('PUT', `${path}/a`, configMap('b', {})), 400);
        const elsewhere = { ...configMap('b', {}), metadata: { name: 'b', namespace: 'elsewhere' } };
        assert.equal(await status('POST', path, elsewhere), 400);
        assert.equal(await status('POST', path, deployment('b')), 400);
        assert.equal(await status('POST', configMapsIn('no-such-namespace'), configMap('b', {})), 404);
        assert.equal(await status('PUT', `${path}/none`, configMap('none', {})), 404);
        assert.equal(await status('GET', `/api/v1/namespaces/${namespace}/nothings`), 404);
        assert.equal(await status('POST', `${path}/a`, configMap('a', {})), 405);
        const versioned = { ...configMap('b', {}), metadata: { name: 'b', resourceVersion: '1' } };
        const refused = await call(target, 'POST', path, { body: versioned });
        assert.deepEqual(
          [refused.status, at(refused.body, 'reason'), at(refused.body, 'message')],
          [500, undefined, 'resourceVersion should not be set on objects to be created'],
        );
      }),
  },
  {
    name: 'a body of an unknown type is 415, one that cannot be read is 400, and YAML is read like JSON',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const odd = await call(target, 'POST', path, { type: 'text/csv', body: 'a,b' });
        assert.deepEqual([odd.status, at(odd.body, 'reason')], [415, 'UnsupportedMediaType']);
        const broken = await call(target, 'POST', path, { body: '{' });
        assert.deepEqual([broken.status, at(broken.body, 'reason')], [400, 'BadRequest']);
        const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: "1"\n';
        const created = await call(target, 'POST', path, { type: 'application/yaml', body: yaml });
        assert.deepEqual([created.status, at(created.body, 'data')], [201, { x: '1' }]);
      }),
  },
  {
    name: 'an update or an apply that would create needs the right to create, too',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const group = 'coordination.k8s.io';
        const path = `/apis/${group}/v1/namespaces/${namespace}/leases`;
        const verbs = ['get', 'list', 'update', 'patch'];
        await grant(target, namespace, [{ apiGroups: [group], resources: ['leases'], verbs }]);
        await untilAllowed(target, path);
        const body = { apiVersion: `${group}/v1`, kind: 'Lease', metadata: { name: 'a' }, spec: {} };
        const as = target.users.guest;
        const put = async () => call(target, 'PUT', `${path}/a`, { as, body });
        const apply = async () =>
          call(target, 'PATCH', `${path}/a?fieldManager=m`, {
            as,
            type: 'application/apply-patch+yaml',
            body,
          });
        for (const write of [put, apply]) {
          const refused = await write();
          assert.deepEqual([refused.status, at(refused.body, 'reason')], [403, 'Forbidden']);
          assert.match(textAt(refused.body, 'message'), /cannot create resource "leases"/);
        }
        await create(target, path, body);
        assert.equal((await apply()).status, 200);
      }),
  },
  {
    name: 'stringData of a secret ends up in data, in base64, and is not shown again',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const body = await create(target, `/api/v1/namespaces/${namespace}/secrets`, {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'a' },
          data: { other: 'eA==' },
          stringData: { key: 'value' },
        });
        assert.deepEqual(
          ['data', 'stringData', 'type'].map((field) => at(body, field)),
          [{ other: 'eA==', key: 'dmFsdWU=' }, undefined, 'Opaque'],
        );
      }),
  },
  {
    name: 'options that are none are 422, as a kind of their own: dryRun, fieldValidation, fieldManager, force',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const refusal = async (method: string, to: string, type?: string) => {
          const answer = await call(target, method, to, {
            body: configMap('a', {}),
            ...(type === undefined ? {} : { type }),
          });
          return [answer.status, at(answer.body, 'details', 'kind'), fieldsOfCauses(answer)];
        };
        assert.deepEqual(await refusal('POST', `${path}?dryRun=Some`), [422, 'CreateOptions', ['dryRun']]);
        assert.deepEqual(await refusal('POST', `${path}?fieldValidation=Odd`), [
          422,
          'CreateOptions',
          ['fieldValidation'],
        ]);
        await create(target, path, configMap('a', {}));
        const long = 'x'.repeat(129);
        assert.deepEqual(await refusal('PUT', `${path}/a?fieldManager=${long}`), [
          422,
          'UpdateOptions',
          ['fieldManager'],
        ]);
        assert.deepEqual(await refusal('PATCH', `${path}/a?force=true`, 'application/merge-patch+json'), [
          422,
          'PatchOptions',
          ['force'],
        ]);
      }),
  },
];
