import assert from 'node:assert/strict';
import { at, listAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import type { LineStream } from '../line-stream.ts';
import { configMap, configMapsIn } from '../objects.ts';
import { call, inNamespace, openWatch } from '../target.ts';
import type { ConformanceCase, Target } from '../target.ts';

const mergePatch = 'application/merge-patch+json';

function labelled(name: string, on: string) {
  return { ...configMap(name, {}), metadata: { name, labels: { on } } };
}

async function versionOf(target: Target, path: string): Promise<string> {
  return textAt((await call(target, 'GET', path)).body, 'metadata', 'resourceVersion');
}

function summary(event: Json | undefined): readonly (Json | undefined)[] {
  return [at(event, 'type'), at(event, 'object', 'metadata', 'name'), at(event, 'object', 'data', 'x')];
}

async function take(stream: LineStream, count: number): Promise<readonly (Json | undefined)[]> {
  const events: (Json | undefined)[] = [];
  while (events.length < count) events.push(await stream.nextJson());
  return events;
}

export const watchCases: readonly ConformanceCase[] = [
  {
    name: 'a watch from a version tells every later change once and in order; a deletion with the last state and its own version',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        await call(target, 'POST', path, { body: configMap('before', {}) });
        const since = await versionOf(target, path);
        await using events = await openWatch(
          target,
          `${path}?watch=true&resourceVersion=${since}&fieldSelector=metadata.name%3Da`,
        );
        await call(target, 'POST', path, { body: configMap('a', { x: '1' }) });
        await call(target, 'PUT', `${path}/a`, { body: configMap('a', { x: '2' }) });
        await call(target, 'DELETE', `${path}/a`);
        const seen = await take(events, 3);
        assert.deepEqual(seen.map(summary), [
          ['ADDED', 'a', '1'],
          ['MODIFIED', 'a', '2'],
          ['DELETED', 'a', '2'],
        ]);
        const versions = seen.map((event) => Number(at(event, 'object', 'metadata', 'resourceVersion')));
        assert.ok(
          versions.every((version, index) => version > (versions[index - 1] ?? Number(since))),
          versions.join(),
        );
      }),
  },
  {
    name: 'a watch without a version begins with what is there, as added',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        for (const name of ['a', 'b']) await call(target, 'POST', path, { body: labelled(name, 'yes') });
        await using events = await openWatch(target, `${path}?watch=true&labelSelector=on`);
        const present = (await take(events, 2)).map(summary);
        assert.deepEqual(present.map(([type, name]) => `${String(type)} ${String(name)}`).toSorted(), [
          'ADDED a',
          'ADDED b',
        ]);
        await call(target, 'POST', path, { body: labelled('c', 'yes') });
        assert.deepEqual(summary(await events.nextJson()).slice(0, 2), ['ADDED', 'c']);
      }),
  },
  {
    name: 'what comes into the view of a selector is added, and what leaves it is deleted',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        await call(target, 'POST', path, { body: labelled('a', 'no') });
        const since = await versionOf(target, path);
        await using events = await openWatch(
          target,
          `${path}?watch=true&labelSelector=on%3Dyes&resourceVersion=${since}`,
        );
        for (const [index, on] of ['yes', 'yes', 'no', 'no', 'yes'].entries())
          await call(target, 'PATCH', `${path}/a`, {
            type: mergePatch,
            body: { metadata: { labels: { on } }, data: { x: String(index) } },
          });
        const seen = await take(events, 4);
        assert.deepEqual(
          seen.map((event) => at(event, 'type')),
          ['ADDED', 'MODIFIED', 'DELETED', 'ADDED'],
        );
        assert.equal(at(seen[2], 'object', 'data', 'x'), '1', 'what left is told as it was last seen');
      }),
  },
  {
    name: 'a watch from a version that is no longer known is told 410 Expired in the stream, and ended',
    needs: 'compaction',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const since = await versionOf(target, path);
        await call(target, 'POST', path, { body: configMap('a', {}) });
        await call(target, 'POST', path, { body: configMap('b', {}) });
        await target.compact?.();
        await using events = await openWatch(target, `${path}?watch=true&resourceVersion=${since}`);
        const event = await events.nextJson();
        assert.deepEqual(
          [at(event, 'type'), ...['kind', 'code', 'reason'].map((field) => at(event, 'object', field))],
          ['ERROR', 'Status', 410, 'Expired'],
        );
        assert.match(textAt(event, 'object', 'message'), /too old/);
        assert.equal(await events.next(), undefined);
      }),
  },
  {
    name: 'bookmarks tell a watch that asks for them how far it is: an object of the kind with nothing but its version',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const since = await versionOf(target, path);
        // Within the last two seconds of its time, by a clock that ticks about as slowly: now and then one ends without.
        let mark: Json | undefined;
        for (let attempt = 0; attempt < 5 && mark === undefined; attempt += 1) {
          await using events = await openWatch(
            target,
            `${path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=${since}` +
              '&fieldSelector=metadata.name%3Dnone',
          );
          mark = await events.nextJson();
        }
        assert.deepEqual(
          [at(mark, 'type'), at(mark, 'object', 'kind'), at(mark, 'object', 'apiVersion')],
          ['BOOKMARK', 'ConfigMap', 'v1'],
        );
        assert.ok(Number(at(mark, 'object', 'metadata', 'resourceVersion')) >= Number(since));
        assert.equal(at(mark, 'object', 'metadata', 'name'), undefined);
      }),
  },
  {
    name: 'sendInitialEvents tells what is there first, and where it ends by a bookmark with an annotation; then what happens',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        for (const name of ['a', 'b']) await call(target, 'POST', path, { body: labelled(name, 'yes') });
        await using events = await openWatch(
          target,
          `${path}?watch=true&labelSelector=on&sendInitialEvents=true&allowWatchBookmarks=true` +
            '&resourceVersionMatch=NotOlderThan',
        );
        const [first, second, mark] = await take(events, 3);
        assert.deepEqual(
          [first, second].map((event) => textAt(event, 'object', 'metadata', 'name')).toSorted(),
          ['a', 'b'],
        );
        assert.equal(at(mark, 'type'), 'BOOKMARK');
        assert.equal(at(mark, 'object', 'metadata', 'annotations', 'k8s.io/initial-events-end'), 'true');
        await call(target, 'DELETE', `${path}/a`);
        assert.deepEqual(summary(await events.nextJson()).slice(0, 2), ['DELETED', 'a']);
      }),
  },
  {
    name: 'options of a watch that do not go together are 422',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const asked = async (query: string) => {
          const { status, body } = await call(
            target,
            'GET',
            `${configMapsIn(namespace)}?watch=true&timeoutSeconds=1&${query}`,
          );
          return [status, ...new Set(listAt(body, 'details', 'causes').map((cause) => at(cause, 'field')))];
        };
        const refused = [422, 'resourceVersionMatch'];
        assert.deepEqual(await asked('sendInitialEvents=true'), refused);
        assert.deepEqual(await asked('resourceVersionMatch=NotOlderThan&resourceVersion=1'), refused);
        assert.deepEqual(
          await asked('sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1'),
          refused,
        );
      }),
  },
  {
    name: 'timeoutSeconds ends a watch in good order',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const since = await versionOf(target, path);
        await using events = await openWatch(
          target,
          `${path}?watch=true&timeoutSeconds=1&resourceVersion=${since}&fieldSelector=metadata.name%3Dnone`,
        );
        assert.equal(await events.next(), undefined);
      }),
  },
];
