import assert from 'node:assert/strict';
import { at, listAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { configMap, configMapsIn, deployment, deploymentsIn, podsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { ConformanceCase, Target } from '../target.ts';
import { until } from '../until.ts';
import { withWidgets } from '../widgets.ts';

const mergePatch = 'application/merge-patch+json';
const hold = 'conformance.example.com/hold';

interface Owner {
  readonly name: string;
  readonly uid: string;
}

interface Family {
  readonly path: string;
  create(
    name: string,
    more?: { readonly owners?: readonly Owner[]; readonly blocks?: boolean; readonly held?: boolean },
  ): Promise<Owner>;
  remove(name: string, propagationPolicy?: string): Promise<void>;
  /** Undefined when it is not there. */
  find(name: string): Promise<Json | undefined>;
  isGone(name: string): Promise<boolean>;
  release(name: string): Promise<void>;
}

/** Config maps that own each other. */
function familyIn(target: Target, namespace: string): Family {
  const path = configMapsIn(namespace);
  const find = async (name: string): Promise<Json | undefined> => {
    const { status, body } = await call(target, 'GET', `${path}/${name}`);
    return status === 404 ? undefined : body;
  };
  return {
    path,
    find,
    isGone: async (name) => (await find(name)) === undefined,
    create: async (name, { owners = [], blocks = true, held = false } = {}) => {
      const ownerReferences = owners.map((owner) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        blockOwnerDeletion: blocks,
        ...owner,
      }));
      const metadata = { name, ownerReferences, ...(held ? { finalizers: [hold] } : {}) };
      const created = await call(target, 'POST', path, { body: { ...configMap(name, {}), metadata } });
      assert.equal(created.status, 201, textAt(created.body, 'message'));
      return { name, uid: textAt(created.body, 'metadata', 'uid') };
    },
    remove: async (name, propagationPolicy) => {
      const { status } = await call(target, 'DELETE', `${path}/${name}`, { body: { propagationPolicy } });
      assert.equal(status, 200);
    },
    release: async (name) => {
      const body = { metadata: { finalizers: null } };
      await call(target, 'PATCH', `${path}/${name}`, { type: mergePatch, body });
    },
  };
}

function deletedWith(object: Json | undefined): readonly Json[] | undefined {
  return at(object, 'metadata', 'deletionTimestamp') === undefined
    ? undefined
    : listAt(object, 'metadata', 'finalizers');
}

export const garbageCollectionCases: readonly ConformanceCase[] = [
  {
    name: 'deleted in the background, an owner is gone at once, and what it owned follows',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const family = familyIn(target, namespace);
        const parent = await family.create('parent');
        const child = await family.create('child', { owners: [parent] });
        await family.create('grandchild', { owners: [child] });
        await family.remove('parent');
        assert.equal(await family.find('parent'), undefined);
        await until(async () => family.isGone('child'));
        await until(async () => family.isGone('grandchild'));
      }),
  },
  {
    name: 'deleted in the foreground, an owner waits, marked and with its finalizer, for those that block it; others it does not wait for',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const family = familyIn(target, namespace);
        const parent = await family.create('parent');
        await family.create('child', { owners: [parent], held: true });
        await family.create('aside', { owners: [parent], held: true, blocks: false });
        await family.remove('parent', 'Foreground');
        await until(async () => deletedWith(await family.find('child')) !== undefined);
        await until(async () => deletedWith(await family.find('aside')) !== undefined);
        assert.deepEqual(deletedWith(await family.find('parent')), ['foregroundDeletion']);
        await family.release('child');
        await until(async () => family.isGone('parent'));
        assert.deepEqual(deletedWith(await family.find('aside')), [hold]);
        await family.release('aside');
        assert.equal(await family.find('aside'), undefined);
      }),
  },
  {
    name: 'deletion in the foreground goes down the whole tree: the deepest go first',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const family = familyIn(target, namespace);
        const parent = await family.create('parent');
        const child = await family.create('child', { owners: [parent] });
        await family.create('grandchild', { owners: [child], held: true });
        await family.remove('parent', 'Foreground');
        await until(async () => deletedWith(await family.find('grandchild')) !== undefined);
        assert.deepEqual(deletedWith(await family.find('child')), ['foregroundDeletion']);
        assert.deepEqual(deletedWith(await family.find('parent')), ['foregroundDeletion']);
        await family.release('grandchild');
        await until(async () => family.isGone('parent'));
        assert.equal(await family.find('child'), undefined);
      }),
  },
  {
    name: 'deleted with orphans, an owner goes and what it owned stays, without the reference',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const family = familyIn(target, namespace);
        const [parent, other] = [await family.create('parent'), await family.create('other')];
        await family.create('child', { owners: [parent] });
        await family.create('shared', { owners: [parent, other] });
        await family.remove('parent', 'Orphan');
        await until(async () => family.isGone('parent'));
        assert.equal(at(await family.find('child'), 'metadata', 'ownerReferences'), undefined);
        assert.deepEqual(
          listAt(await family.find('shared'), 'metadata', 'ownerReferences').map((owner) =>
            at(owner, 'name'),
          ),
          ['other'],
        );
      }),
  },
  {
    name: 'what has another owner stays, loses the reference to the one that went, and goes with the last',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const family = familyIn(target, namespace);
        const [one, two] = [await family.create('one'), await family.create('two')];
        await family.create('shared', { owners: [one, two] });
        await family.remove('one', 'Foreground');
        await until(async () => family.isGone('one'));
        const references = listAt(await family.find('shared'), 'metadata', 'ownerReferences');
        assert.deepEqual(
          references.map((owner) => at(owner, 'name')),
          ['two'],
        );
        await family.remove('two');
        await until(async () => family.isGone('shared'));
      }),
  },
  {
    name: 'what is created with an owner that is not there, or in another namespace, is collected',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (elsewhere) =>
        inNamespace(target, async (namespace) => {
          const stranger = await familyIn(target, elsewhere).create('stranger');
          const family = familyIn(target, namespace);
          await family.create('lost', { owners: [{ name: 'none', uid: crypto.randomUUID() }] });
          await family.create('foreign', { owners: [stranger] });
          await until(async () => family.isGone('lost'));
          await until(async () => family.isGone('foreign'));
        }),
      ),
  },
  {
    name: 'what a custom resource owns goes with it, also when it goes with its definition',
    needs: 'controllers',
    run: async (target) => {
      // A real garbage collector hears of new kinds every half minute.
      const limitMs = 60_000;
      const children = configMapsIn('default');
      const names = ['first', 'second'].map((name) => `${name}-${crypto.randomUUID()}`);
      const isGone = async (name: string) =>
        (await call(target, 'GET', `${children}/${name}`)).status === 404;
      await withWidgets(target, 'owners.example.com', async ({ path, group }) => {
        for (const name of names) {
          const kind = { apiVersion: `${group}/v1`, kind: 'Widget' };
          const widget = { ...kind, metadata: { name }, spec: { image: 'x' } };
          const owner = await call(target, 'POST', path, { body: widget });
          const ownerReferences = [{ ...kind, name, uid: at(owner.body, 'metadata', 'uid') }];
          await call(target, 'POST', children, {
            body: { ...configMap(name, {}), metadata: { name, ownerReferences } },
          });
        }
        await call(target, 'DELETE', `${path}/${names[0] ?? ''}`);
        await until(async () => isGone(names[0] ?? ''), limitMs);
        assert.equal(await isGone(names[1] ?? ''), false);
      });
      await until(async () => isGone(names[1] ?? ''), limitMs);
    },
  },
  {
    name: 'two that own each other do not wait for each other for ever',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const family = familyIn(target, namespace);
        const one = await family.create('one');
        const two = await family.create('two', { owners: [one] });
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', blockOwnerDeletion: true, ...two }];
        await call(target, 'PATCH', `${family.path}/one`, {
          type: mergePatch,
          body: { metadata: { ownerReferences } },
        });
        await family.remove('one', 'Foreground');
        await until(async () => (await family.isGone('one')) && family.isGone('two'));
      }),
  },
  {
    name: 'a deployment that is deleted with orphans leaves its replica set and pods, and a new one of its kind takes them over',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = deploymentsIn(namespace);
        const sets = `/apis/apps/v1/namespaces/${namespace}/replicasets`;
        const list = async (of: string) => listAt((await call(target, 'GET', of)).body, 'items');
        await call(target, 'POST', path, { body: deployment('web') });
        await until(async () => (await list(podsIn(namespace))).length === 1);
        const [set] = await list(sets);
        await call(target, 'DELETE', `${path}/web`, { body: { propagationPolicy: 'Orphan' } });
        await until(async () => (await call(target, 'GET', `${path}/web`)).status === 404);
        assert.deepEqual(
          (await list(sets)).map((left) => [
            at(left, 'metadata', 'uid'),
            at(left, 'metadata', 'ownerReferences'),
          ]),
          [[at(set, 'metadata', 'uid'), undefined]],
        );
        const again = await call(target, 'POST', path, { body: deployment('web') });
        await until(
          async () =>
            at((await list(sets))[0], 'metadata', 'ownerReferences', 0, 'uid') ===
            at(again.body, 'metadata', 'uid'),
        );
        assert.equal((await list(sets)).length, 1);
        await call(target, 'DELETE', `${path}/web`, { body: { propagationPolicy: 'Foreground' } });
        await until(async () => (await call(target, 'GET', `${path}/web`)).status === 404);
        assert.deepEqual(await list(sets), []);
      }),
  },
];
