import assert from 'node:assert/strict';
import { at, listAt, textAt } from '../../kube-apiserver/json.ts';
import { configMap, configMapsIn, podOn, podsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';

const mergePatch = 'application/merge-patch+json';
const hold = 'conformance.example.com/hold';

async function createHeld(target: Target, namespace: string, name: string): Promise<Answer> {
  const { metadata, ...rest } = configMap(name, {});
  const body = { ...rest, metadata: { ...metadata, finalizers: [hold] } };
  return call(target, 'POST', configMapsIn(namespace), { body });
}

async function setFinalizers(target: Target, path: string, finalizers: readonly string[]): Promise<Answer> {
  return call(target, 'PATCH', path, { type: mergePatch, body: { metadata: { finalizers } } });
}

async function namesIn(target: Target, path: string): Promise<readonly string[]> {
  const { body } = await call(target, 'GET', path);
  return listAt(body, 'items').map((item) => textAt(item, 'metadata', 'name'));
}

export const deletionCases: readonly ConformanceCase[] = [
  {
    name: 'a deletion answers with a status that names what is gone by its uid; a second one is 404',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const created = await call(target, 'POST', path, { body: configMap('a', {}) });
        const deleted = await call(target, 'DELETE', `${path}/a`);
        assert.deepEqual([deleted.status, at(deleted.body, 'status')], [200, 'Success']);
        assert.deepEqual(at(deleted.body, 'details'), {
          name: 'a',
          kind: 'configmaps',
          uid: at(created.body, 'metadata', 'uid'),
        });
        assert.equal((await call(target, 'DELETE', `${path}/a`)).status, 404);
      }),
  },
  {
    name: 'a deletion with the uid or the resourceVersion of another state is 409, and deletes nothing',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const created = await call(target, 'POST', path, { body: configMap('a', {}) });
        await call(target, 'PUT', `${path}/a`, { body: configMap('a', { x: '1' }) });
        const remove = async (preconditions: unknown) =>
          call(target, 'DELETE', `${path}/a`, { body: { preconditions } });
        const uid = textAt(created.body, 'metadata', 'uid');
        const wrong = await remove({ uid: 'another' });
        assert.deepEqual([wrong.status, at(wrong.body, 'reason')], [409, 'Conflict']);
        assert.equal(
          at(wrong.body, 'message'),
          'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (another) does not match ' +
            `the UID in record (${uid}). The object might have been deleted and then recreated`,
        );
        const resourceVersion = textAt(created.body, 'metadata', 'resourceVersion');
        const stale = await remove({ uid, resourceVersion });
        assert.equal(stale.status, 409);
        assert.match(
          textAt(stale.body, 'message'),
          new RegExp(`the ResourceVersion in the precondition \\(${resourceVersion}\\) does not match`),
        );
        const live = await call(target, 'GET', `${path}/a`);
        assert.equal(live.status, 200);
        const right = await remove({
          uid,
          resourceVersion: textAt(live.body, 'metadata', 'resourceVersion'),
        });
        assert.equal(right.status, 200);
      }),
  },
  {
    name: 'a deletion with a policy that is none, or with both spellings of it, is 422 and says which there are',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        await call(target, 'POST', path, { body: configMap('a', {}) });
        const odd = await call(target, 'DELETE', `${path}/a?propagationPolicy=Sideways`);
        assert.deepEqual(
          [odd.status, at(odd.body, 'reason'), at(odd.body, 'details', 'kind')],
          [422, 'Invalid', 'DeleteOptions'],
        );
        assert.deepEqual(
          listAt(odd.body, 'details', 'causes').map((cause) => [at(cause, 'reason'), at(cause, 'field')]),
          [['FieldValueNotSupported', 'propagationPolicy']],
        );
        const both = await call(target, 'DELETE', `${path}/a`, {
          body: { propagationPolicy: 'Orphan', orphanDependents: true },
        });
        assert.equal(both.status, 422);
        assert.match(
          textAt(both.body, 'message'),
          /orphanDependents and deletionPropagation cannot be both set/,
        );
        assert.equal((await call(target, 'GET', `${path}/a`)).status, 200);
      }),
  },
  {
    name: 'a policy in the query counts where there is no body, and becomes a finalizer; a dry run shows it and keeps the object',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        await call(target, 'POST', configMapsIn(namespace), { body: configMap('a', {}) });
        const finalizers = async (query: string) =>
          at((await call(target, 'DELETE', `${path}?dryRun=All${query}`)).body, 'metadata', 'finalizers');
        assert.deepEqual(await finalizers('&propagationPolicy=Foreground'), ['foregroundDeletion']);
        assert.deepEqual(await finalizers('&propagationPolicy=Orphan'), ['orphan']);
        assert.deepEqual(await finalizers('&orphanDependents=true'), ['orphan']);
        assert.equal(await finalizers('&propagationPolicy=Background'), undefined);
        const live = await call(target, 'GET', path);
        assert.deepEqual(
          [at(live.body, 'metadata', 'finalizers'), at(live.body, 'metadata', 'deletionTimestamp')],
          [undefined, undefined],
        );
      }),
  },
  {
    name: 'an object with a finalizer is marked for deletion only, may be changed, takes no new finalizer, and goes with its last',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        const other = 'conformance.example.com/other';
        await createHeld(target, namespace, 'a');
        const marked = await call(target, 'DELETE', path);
        assert.equal(marked.status, 200);
        assert.match(textAt(marked.body, 'metadata', 'deletionTimestamp'), /^\d{4}-.*Z$/);
        assert.equal(at(marked.body, 'metadata', 'deletionGracePeriodSeconds'), 0);
        const again = await call(target, 'DELETE', path);
        assert.equal(
          at(again.body, 'metadata', 'deletionTimestamp'),
          at(marked.body, 'metadata', 'deletionTimestamp'),
        );
        const changed = await call(target, 'PATCH', path, { type: mergePatch, body: { data: { x: '1' } } });
        assert.deepEqual([changed.status, at(changed.body, 'data')], [200, { x: '1' }]);
        const refused = await setFinalizers(target, path, [hold, other]);
        assert.equal(refused.status, 422);
        assert.deepEqual(at(refused.body, 'details', 'causes', 0), {
          reason: 'FieldValueForbidden',
          message:
            'Forbidden: no new finalizers can be added if the object is being deleted, ' +
            `found new finalizers []string{"${other}"}`,
          field: 'metadata.finalizers',
        });
        assert.equal((await setFinalizers(target, path, [])).status, 200);
        assert.equal((await call(target, 'GET', path)).status, 404);
      }),
  },
  {
    name: 'a finalizer needs a prefix unless it is one of the standard ones, and the two of garbage collection exclude each other',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${configMapsIn(namespace)}/a`;
        await call(target, 'POST', configMapsIn(namespace), { body: configMap('a', {}) });
        const refusal = async (...finalizers: string[]): Promise<string> => {
          const answer = await setFinalizers(target, path, finalizers);
          assert.equal(answer.status, 422, finalizers.join());
          return textAt(answer.body, 'message');
        };
        assert.match(await refusal('hold'), /neither a standard finalizer name nor is it fully qualified/);
        assert.match(await refusal('a b'), /name part must consist of alphanumeric characters/);
        assert.match(await refusal('orphan', 'foregroundDeletion'), /cannot be both set/);
      }),
  },
  {
    name: 'a pod on a node gets a grace period, which a later deletion may shorten and not lengthen; none removes it at once',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${podsIn(namespace)}/a`;
        const created = await call(target, 'POST', podsIn(namespace), { body: podOn('no-such-node', 'a') });
        assert.equal(created.status, 201, textAt(created.body, 'message'));
        const remove = async (gracePeriodSeconds?: number) => {
          const { status, body } = await call(target, 'DELETE', path, { body: { gracePeriodSeconds } });
          return [status, at(body, 'kind'), at(body, 'metadata', 'deletionGracePeriodSeconds')];
        };
        assert.deepEqual(await remove(), [200, 'Pod', 30]);
        const marked = await call(target, 'GET', path);
        const end = Date.parse(textAt(marked.body, 'metadata', 'deletionTimestamp'));
        assert.deepEqual(await remove(20), [200, 'Pod', 20]);
        const sooner = await call(target, 'GET', path);
        assert.equal(end - Date.parse(textAt(sooner.body, 'metadata', 'deletionTimestamp')), 10_000);
        assert.deepEqual(await remove(25), [200, 'Pod', 20]);
        assert.equal((await remove(0))[0], 200);
        assert.equal((await call(target, 'GET', path)).status, 404);
      }),
  },
  {
    name: 'deletecollection takes what its selectors pick, marks what has finalizers, and answers with the list',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const labelled = (name: string, app: string) => ({
          ...configMap(name, {}),
          metadata: { name, labels: { app } },
        });
        for (const [name, app] of [
          ['a', 'web'],
          ['b', 'web'],
          ['c', 'db'],
          ['d', 'db'],
        ] as const)
          await call(target, 'POST', path, { body: labelled(name, app) });
        const dry = await call(target, 'DELETE', `${path}?labelSelector=app%3Dweb&dryRun=All`);
        assert.equal(dry.status, 200);
        const byLabel = await call(target, 'DELETE', `${path}?labelSelector=app%3Dweb`);
        assert.deepEqual([byLabel.status, at(byLabel.body, 'kind')], [200, 'ConfigMapList']);
        assert.deepEqual(
          listAt(byLabel.body, 'items').map((item) => at(item, 'metadata', 'name')),
          ['a', 'b'],
        );
        await call(target, 'DELETE', `${path}?fieldSelector=metadata.name%3Dc`);
        // A controller manager puts a map of its own into every namespace.
        const own = (names: readonly string[]) => names.filter((name) => name.length === 1);
        assert.deepEqual(own(await namesIn(target, path)), ['d']);
        await setFinalizers(target, `${path}/d`, [hold]);
        await call(target, 'DELETE', path);
        const left = await call(target, 'GET', `${path}/d`);
        assert.ok(at(left.body, 'metadata', 'deletionTimestamp'));
        await setFinalizers(target, `${path}/d`, []);
        assert.deepEqual(own(await namesIn(target, path)), []);
      }),
  },
];
