import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { configMap, configMapsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';

/** Leaves out the map that a controller manager puts into every namespace. */
const own = 'labelSelector=own';

function labelled(name: string, more: Readonly<Record<string, string>> = {}) {
  return { ...configMap(name, {}), metadata: { name, labels: { own: 'yes', ...more } } };
}

async function createAll(target: Target, namespace: string, names: readonly string[]): Promise<void> {
  for (const name of names) await call(target, 'POST', configMapsIn(namespace), { body: labelled(name) });
}

async function list(target: Target, namespace: string, query: string): Promise<Answer> {
  return call(target, 'GET', `${configMapsIn(namespace)}?${own}&${query}`);
}

function names(body: Json): readonly string[] {
  return listAt(body, 'items').map((item) => textAt(item, 'metadata', 'name'));
}

function continueOf(body: Json): string {
  return textAt(body, 'metadata', 'continue');
}

function refusal({ status, body }: Answer): readonly unknown[] {
  return [status, listAt(body, 'details', 'causes').map((cause) => at(cause, 'field'))];
}

export const listCases: readonly ConformanceCase[] = [
  {
    name: 'a list is of a kind, at a version, in the order of names, and its items carry neither kind nor apiVersion',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await createAll(target, namespace, ['b', 'c', 'a']);
        const { status, body } = await list(target, namespace, '');
        assert.deepEqual(
          [status, at(body, 'kind'), at(body, 'apiVersion'), names(body)],
          [200, 'ConfigMapList', 'v1', ['a', 'b', 'c']],
        );
        assert.match(textAt(body, 'metadata', 'resourceVersion'), /^[1-9]\d*$/);
        assert.deepEqual(
          ['kind', 'apiVersion'].map((field) => at(body, 'items', 0, field)),
          [undefined, undefined],
        );
      }),
  },
  {
    name: 'a list of all namespaces is in the order of namespaces, then names',
    run: async (target) =>
      inNamespace(target, async (one) =>
        inNamespace(target, async (two) => {
          const mark = `of-${one}`;
          for (const [namespace, name] of [
            [two, 'a'],
            [one, 'b'],
            [one, 'a-b'],
            [one, 'a'],
          ] as const)
            await call(target, 'POST', configMapsIn(namespace), { body: labelled(name, { mark }) });
          const { body } = await call(target, 'GET', `/api/v1/configmaps?labelSelector=mark%3D${mark}`);
          const first = [one, two].toSorted()[0] === one;
          const ofOne = ['a', 'a-b', 'b'].map((name) => [one, name]);
          assert.deepEqual(
            listAt(body, 'items').map((item) => [
              at(item, 'metadata', 'namespace'),
              at(item, 'metadata', 'name'),
            ]),
            first ? [...ofOne, [two, 'a']] : [[two, 'a'], ...ofOne],
          );
        }),
      ),
  },
  {
    name: 'limit cuts a list into chunks that go on by a token and all show one moment, whatever is written between',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await createAll(target, namespace, ['a', 'b', 'c', 'd', 'e']);
        const first = await list(target, namespace, 'limit=2');
        assert.deepEqual(names(first.body), ['a', 'b']);
        await call(target, 'DELETE', `${configMapsIn(namespace)}/c`);
        await createAll(target, namespace, ['cc']);
        const second = await list(target, namespace, `limit=2&continue=${continueOf(first.body)}`);
        assert.deepEqual(names(second.body), ['c', 'd']);
        const third = await list(target, namespace, `limit=2&continue=${continueOf(second.body)}`);
        assert.deepEqual([names(third.body), at(third.body, 'metadata', 'continue')], [['e'], undefined]);
        const versions = [first, second, third].map(({ body }) => at(body, 'metadata', 'resourceVersion'));
        assert.equal(new Set(versions).size, 1);
      }),
  },
  {
    name: 'what remains after a chunk is counted, but not where a selector narrows the list',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await createAll(target, namespace, ['a', 'b', 'c']);
        const all = await call(target, 'GET', configMapsIn(namespace));
        const chunk = await call(target, 'GET', `${configMapsIn(namespace)}?limit=1`);
        assert.equal(at(chunk.body, 'metadata', 'remainingItemCount'), listAt(all.body, 'items').length - 1);
        const narrowed = await list(target, namespace, 'limit=1');
        assert.notEqual(continueOf(narrowed.body), '');
        assert.equal(at(narrowed.body, 'metadata', 'remainingItemCount'), undefined);
      }),
  },
  {
    name: 'a token of a moment that is no longer known is 410 Expired, with one that goes on from there as things are now',
    needs: 'compaction',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await createAll(target, namespace, ['a', 'b', 'd']);
        const first = await list(target, namespace, 'limit=1');
        await createAll(target, namespace, ['c']);
        await target.compact?.();
        const expired = await list(target, namespace, `limit=1&continue=${continueOf(first.body)}`);
        assert.deepEqual(
          [expired.status, at(expired.body, 'kind'), at(expired.body, 'reason')],
          [410, 'Status', 'Expired'],
        );
        assert.match(textAt(expired.body, 'message'), /^The provided continue parameter is too old/);
        const rest = await list(target, namespace, `continue=${continueOf(expired.body)}`);
        assert.deepEqual([rest.status, names(rest.body)], [200, ['b', 'c', 'd']]);
      }),
  },
  {
    name: 'a token that is none is 400, and a token goes with no other version than its own',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await createAll(target, namespace, ['a', 'b']);
        assert.equal((await list(target, namespace, 'limit=1&continue=nonsense')).status, 400);
        const first = await list(target, namespace, 'limit=1');
        const version = textAt(first.body, 'metadata', 'resourceVersion');
        const both = await list(
          target,
          namespace,
          `limit=1&continue=${continueOf(first.body)}&resourceVersion=${version}`,
        );
        assert.equal(both.status, 400);
      }),
  },
  {
    name: 'resourceVersionMatch=Exact lists as it was at that version, NotOlderThan at that or a later one',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await createAll(target, namespace, ['a']);
        const { body } = await list(target, namespace, '');
        const version = textAt(body, 'metadata', 'resourceVersion');
        await createAll(target, namespace, ['b']);
        const at1 = await list(target, namespace, `resourceVersion=${version}&resourceVersionMatch=Exact`);
        assert.deepEqual(
          [at1.status, names(at1.body), at(at1.body, 'metadata', 'resourceVersion')],
          [200, ['a'], version],
        );
        const newest = await list(target, namespace, '');
        const since = textAt(newest.body, 'metadata', 'resourceVersion');
        const later = await list(
          target,
          namespace,
          `resourceVersion=${since}&resourceVersionMatch=NotOlderThan`,
        );
        assert.deepEqual([later.status, names(later.body)], [200, ['a', 'b']]);
      }),
  },
  {
    name: 'a version of the future is 504 with a cause that says so, and one that is no number is refused',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const { body } = await list(target, namespace, '');
        const future = Number(textAt(body, 'metadata', 'resourceVersion')) + 1_000_000;
        const early = await list(target, namespace, `resourceVersion=${future}`);
        assert.deepEqual(
          [early.status, at(early.body, 'reason'), at(early.body, 'details', 'causes', 0, 'reason')],
          [504, 'Timeout', 'ResourceVersionTooLarge'],
        );
        const odd = await list(target, namespace, 'resourceVersion=odd');
        assert.ok(odd.status >= 400 && odd.status < 500, String(odd.status));
      }),
  },
  {
    name: 'options of a list that do not go together are 422',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const asked = async (query: string) => refusal(await list(target, namespace, query));
        const match = [422, ['resourceVersionMatch']];
        assert.deepEqual(await asked('resourceVersionMatch=Exact'), match);
        assert.deepEqual(await asked('resourceVersion=0&resourceVersionMatch=Exact'), match);
        assert.deepEqual(await asked('resourceVersion=1&resourceVersionMatch=Odd'), match);
        assert.deepEqual(await asked('sendInitialEvents=true'), [422, ['sendInitialEvents']]);
      }),
  },
  {
    name: 'label and field selectors narrow a list, and a field that is not offered is 400',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        for (const [name, tier] of [
          ['a', 'web'],
          ['b', 'web'],
          ['c', 'db'],
        ] as const)
          await call(target, 'POST', configMapsIn(namespace), { body: labelled(name, { tier }) });
        const picked = async (labelSelector: string, fieldSelector = '') => {
          const query = new URLSearchParams({ labelSelector, fieldSelector }).toString();
          const { status, body } = await call(target, 'GET', `${configMapsIn(namespace)}?${query}`);
          return status === 200 ? names(body) : status;
        };
        assert.deepEqual(await picked('tier=web'), ['a', 'b']);
        assert.deepEqual(await picked('tier in (db,cache)'), ['c']);
        assert.deepEqual(await picked('own,tier notin (db)'), ['a', 'b']);
        assert.deepEqual(await picked('own,!none'), ['a', 'b', 'c']);
        assert.deepEqual(await picked('own', 'metadata.name!=b'), ['a', 'c']);
        assert.equal(await picked('', 'data.x=1'), 400);
        assert.equal(await picked('tier in (web'), 400);
      }),
  },
  {
    name: 'a list can be of metadata alone, or a table',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await createAll(target, namespace, ['a']);
        const ask = async (as: string) =>
          call(target, 'GET', `${configMapsIn(namespace)}?${own}`, {
            headers: { accept: `application/json;as=${as};g=meta.k8s.io;v=v1` },
          });
        const partial = await ask('PartialObjectMetadataList');
        assert.equal(at(partial.body, 'kind'), 'PartialObjectMetadataList');
        assert.deepEqual(Object.keys(objectAt(partial.body, 'items', 0)).includes('data'), false);
        assert.equal(at(partial.body, 'items', 0, 'metadata', 'name'), 'a');
        const table = await ask('Table');
        assert.deepEqual(
          [at(table.body, 'kind'), at(table.body, 'columnDefinitions', 0, 'name')],
          ['Table', 'Name'],
        );
        assert.equal(at(table.body, 'rows', 0, 'cells', 0), 'a');
      }),
  },
];
