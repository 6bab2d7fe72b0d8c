import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { call, inNamespace, openWatch } from '../target.ts';
import type { ConformanceCase } from '../target.ts';

const mergePatch = 'application/merge-patch+json';
const time = '2026-01-01T00:00:00Z';
const microTime = '2026-01-01T00:00:00.000000Z';

function coreEventsIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/events`;
}

function eventsIn(namespace: string): string {
  return `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
}

/** As older components write them. */
function coreEvent(namespace: string, name: string, about = 'web') {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name: about, uid: `uid-of-${about}` },
    type: 'Normal',
    reason: 'Started',
    message: 'Started container main',
    source: { component: 'kubelet', host: 'node-1' },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 3,
  };
}

/** As newer ones do. */
function reportedEvent(namespace: string, name: string) {
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name },
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace, name: 'web' },
    type: 'Warning',
    reason: 'FailedScheduling',
    action: 'Scheduling',
    note: 'no node is free',
    eventTime: microTime,
    reportingController: 'default-scheduler',
    reportingInstance: 'default-scheduler-1',
  };
}

function pick(body: Json, ...fields: string[]): readonly (Json | undefined)[] {
  const object = objectAt(body);
  return fields.map((field) => object[field]);
}

function fieldsOfCauses(body: Json): readonly string[] {
  return listAt(body, 'details', 'causes').map((cause) => textAt(cause, 'field'));
}

export const eventCases: readonly ConformanceCase[] = [
  {
    name: 'an event of the core group is the same object in events.k8s.io, under the names of there',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const created = await call(target, 'POST', coreEventsIn(namespace), {
          body: coreEvent(namespace, 'a'),
        });
        assert.equal(created.status, 201, textAt(created.body, 'message'));
        const { status, body } = await call(target, 'GET', `${eventsIn(namespace)}/a`);
        assert.equal(status, 200);
        assert.deepEqual(pick(body, 'apiVersion', 'kind', 'note', 'reason', 'type', 'deprecatedCount'), [
          'events.k8s.io/v1',
          'Event',
          'Started container main',
          'Started',
          'Normal',
          3,
        ]);
        assert.deepEqual(pick(body, 'deprecatedSource', 'deprecatedFirstTimestamp', 'message', 'count'), [
          { component: 'kubelet', host: 'node-1' },
          time,
          undefined,
          undefined,
        ]);
        assert.equal(at(body, 'regarding', 'name'), 'web');
        const ids = (object: Json) => [
          at(object, 'metadata', 'uid'),
          at(object, 'metadata', 'resourceVersion'),
        ];
        assert.deepEqual(ids(body), ids(created.body));
      }),
  },
  {
    name: 'an event of events.k8s.io is the same object in the core group, under the names of there',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const created = await call(target, 'POST', eventsIn(namespace), {
          body: reportedEvent(namespace, 'a'),
        });
        assert.equal(created.status, 201, textAt(created.body, 'message'));
        const { body } = await call(target, 'GET', `${coreEventsIn(namespace)}/a`);
        assert.deepEqual(
          pick(body, 'apiVersion', 'message', 'reportingComponent', 'eventTime', 'firstTimestamp', 'source'),
          ['v1', 'no node is free', 'default-scheduler', microTime, null, {}],
        );
        assert.equal(at(body, 'involvedObject', 'name'), 'web');
        const { body: list } = await call(target, 'GET', coreEventsIn(namespace));
        assert.equal(at(list, 'kind'), 'EventList');
        assert.deepEqual(
          listAt(list, 'items').map((item) => at(item, 'message')),
          ['no node is free'],
        );
        assert.equal((await call(target, 'DELETE', `${coreEventsIn(namespace)}/a`)).status, 200);
        assert.equal((await call(target, 'GET', `${eventsIn(namespace)}/a`)).status, 404);
      }),
  },
  {
    name: 'a watch of either group shows the events of both',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const { body } = await call(target, 'GET', eventsIn(namespace));
        const since = textAt(body, 'metadata', 'resourceVersion');
        await using events = await openWatch(
          target,
          `${eventsIn(namespace)}?watch=true&resourceVersion=${since}`,
        );
        await call(target, 'POST', coreEventsIn(namespace), { body: coreEvent(namespace, 'a') });
        await call(target, 'POST', eventsIn(namespace), { body: reportedEvent(namespace, 'b') });
        const seen = [await events.nextJson(), await events.nextJson()];
        assert.deepEqual(
          seen.map((event) => [
            at(event, 'type'),
            at(event, 'object', 'apiVersion'),
            at(event, 'object', 'note'),
          ]),
          [
            ['ADDED', 'events.k8s.io/v1', 'Started container main'],
            ['ADDED', 'events.k8s.io/v1', 'no node is free'],
          ],
        );
      }),
  },
  {
    name: 'events.k8s.io wants the time, who reports and what was done, and none of the older fields; the core group does not',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const { regarding, metadata, kind, apiVersion, reason } = reportedEvent(namespace, 'a');
        const bare = { regarding, metadata, kind, apiVersion, reason };
        const refused = await call(target, 'POST', eventsIn(namespace), { body: bare });
        assert.deepEqual(
          [refused.status, fieldsOfCauses(refused.body).toSorted()],
          [422, ['eventTime', 'type']],
        );
        const timed = await call(target, 'POST', eventsIn(namespace), {
          body: { ...bare, type: 'Normal', eventTime: microTime },
        });
        assert.equal(timed.status, 422);
        for (const field of ['reportingController', 'reportingInstance', 'action'])
          assert.ok(fieldsOfCauses(timed.body).includes(field), field);
        const older = await call(target, 'POST', eventsIn(namespace), {
          body: {
            ...reportedEvent(namespace, 'a'),
            deprecatedCount: 2,
            deprecatedFirstTimestamp: time,
            deprecatedLastTimestamp: time,
            deprecatedSource: { component: 'x' },
          },
        });
        assert.equal(older.status, 422);
        assert.deepEqual(fieldsOfCauses(older.body).toSorted(), [
          'count',
          'firstTimestamp',
          'lastTimestamp',
          'source',
        ]);
        const { involvedObject } = coreEvent(namespace, 'b');
        const core = await call(target, 'POST', coreEventsIn(namespace), {
          body: { apiVersion: 'v1', kind: 'Event', metadata: { name: 'b' }, involvedObject },
        });
        assert.equal(core.status, 201);
      }),
  },
  {
    name: 'an event becomes a series by a patch of it, which is all of it that events.k8s.io lets change',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${eventsIn(namespace)}/a`;
        await call(target, 'POST', eventsIn(namespace), { body: reportedEvent(namespace, 'a') });
        const patch = async (body: unknown) => call(target, 'PATCH', path, { type: mergePatch, body });
        const once = await patch({ series: { count: 1, lastObservedTime: microTime } });
        assert.deepEqual([once.status, fieldsOfCauses(once.body)], [422, ['series.count']]);
        const series = { count: 4, lastObservedTime: '2026-01-01T00:05:00.000000Z' };
        const patched = await patch({ series });
        assert.deepEqual([patched.status, at(patched.body, 'series')], [200, series]);
        const renoted = await patch({ note: 'another' });
        assert.deepEqual([renoted.status, fieldsOfCauses(renoted.body)], [422, ['message']]);
        const core = await call(target, 'PATCH', `${coreEventsIn(namespace)}/a`, {
          type: mergePatch,
          body: { message: 'another' },
        });
        assert.deepEqual([core.status, at(core.body, 'message')], [200, 'another']);
      }),
  },
  {
    name: 'the table of events tells how often and when last: of the series, or of the older count',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await call(target, 'POST', coreEventsIn(namespace), { body: coreEvent(namespace, 'a') });
        const series = { count: 4, lastObservedTime: microTime };
        await call(target, 'POST', eventsIn(namespace), {
          body: { ...reportedEvent(namespace, 'b'), series },
        });
        await call(target, 'POST', eventsIn(namespace), { body: reportedEvent(namespace, 'c') });
        for (const path of [coreEventsIn(namespace), eventsIn(namespace)]) {
          const { body } = await call(target, 'GET', path, {
            headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
          });
          const columns = listAt(body, 'columnDefinitions').map((column) => textAt(column, 'name'));
          const rows = listAt(body, 'rows').map((row) => {
            const cells = listAt(row, 'cells');
            return ['Name', 'Type', 'Reason', 'Object', 'Count', 'Source'].map((name) =>
              String(cells[columns.indexOf(name)]),
            );
          });
          assert.deepEqual(rows, [
            ['a', 'Normal', 'Started', 'pod/web', '3', 'kubelet, node-1'],
            ['b', 'Warning', 'FailedScheduling', 'pod/web', '4', 'default-scheduler, default-scheduler-1'],
            ['c', 'Warning', 'FailedScheduling', 'pod/web', '1', 'default-scheduler, default-scheduler-1'],
          ]);
        }
      }),
  },
  {
    name: 'events are selected by what they are about, in the words of each group',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await call(target, 'POST', coreEventsIn(namespace), { body: coreEvent(namespace, 'a', 'web') });
        await call(target, 'POST', coreEventsIn(namespace), { body: coreEvent(namespace, 'b', 'db') });
        await call(target, 'POST', eventsIn(namespace), { body: reportedEvent(namespace, 'c') });
        const names = async (path: string, fieldSelector: string) => {
          const query = new URLSearchParams({ fieldSelector }).toString();
          const { status, body } = await call(target, 'GET', `${path}?${query}`);
          return status === 200 ? listAt(body, 'items').map((item) => at(item, 'metadata', 'name')) : status;
        };
        const [core, events] = [coreEventsIn(namespace), eventsIn(namespace)];
        assert.deepEqual(await names(core, 'involvedObject.name=web,involvedObject.kind=Pod'), ['a', 'c']);
        assert.deepEqual(await names(core, 'involvedObject.uid=uid-of-db'), ['b']);
        assert.deepEqual(await names(core, 'source=default-scheduler'), ['c']);
        assert.deepEqual(await names(core, 'type!=Normal'), ['c']);
        assert.deepEqual(await names(events, 'regarding.name=web'), ['a', 'c']);
        assert.deepEqual(await names(events, 'reportingController=default-scheduler'), ['c']);
        assert.equal(await names(core, 'regarding.name=web'), 400);
        assert.equal(await names(events, 'involvedObject.name=web'), 400);
      }),
  },
  {
    name: 'an event is in the namespace of what it is about',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const refused = await call(target, 'POST', coreEventsIn(namespace), {
          body: coreEvent('default', 'a'),
        });
        assert.deepEqual(
          [refused.status, at(refused.body, 'details', 'causes', 0)],
          [
            422,
            {
              reason: 'FieldValueInvalid',
              message: 'Invalid value: "default": does not match event.namespace',
              field: 'involvedObject.namespace',
            },
          ],
        );
        const { namespace: _, ...regarding } = reportedEvent(namespace, 'a').regarding;
        const reported = await call(target, 'POST', eventsIn(namespace), {
          body: { ...reportedEvent(namespace, 'a'), regarding },
        });
        assert.deepEqual(
          [reported.status, fieldsOfCauses(reported.body)],
          [422, ['involvedObject.namespace']],
        );
      }),
  },
  {
    name: 'an update of an event that is not there creates it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${coreEventsIn(namespace)}/a`;
        const put = async (reason: string) =>
          (await call(target, 'PUT', path, { body: { ...coreEvent(namespace, 'a'), reason } })).status;
        assert.deepEqual([await put('One'), await put('Two')], [201, 200]);
        assert.equal(at((await call(target, 'GET', path)).body, 'reason'), 'Two');
      }),
  },
];
