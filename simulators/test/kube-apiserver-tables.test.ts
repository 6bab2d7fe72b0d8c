import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listAt, textAt } from '../src/kube-apiserver/json.ts';
import { humanDuration } from '../src/kube-apiserver/printing/human-duration.ts';
import { negotiate } from '../src/kube-apiserver/printing/accept.ts';
import { ManualClock } from '../src/manual-clock.ts';
import { call, configMap, pod, startServer } from './kube-apiserver-client.ts';

const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

test('ages are written as kubectl writes them', () => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  const cases: readonly (readonly [ms: number, text: string])[] = [
    [-5 * second, '<invalid>'],
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 30 * second, '9m30s'],
    [10 * minute + 30 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day + 4 * hour, '2d4h'],
    [8 * day + 4 * hour, '8d'],
    [729 * day, '729d'],
    [2 * 365 * day + 30 * day, '2y30d'],
    [9 * 365 * day, '9y'],
  ];
  for (const [ms, text] of cases) assert.equal(humanDuration(ms), text);
});

test('the first form in Accept that can be written wins', () => {
  const cases: readonly (readonly [accept: string, form: string])[] = [
    ['', 'object'],
    ['*/*', 'object'],
    ['application/json', 'object'],
    [asTable, 'table'],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', 'object'],
    ['application/vnd.kubernetes.protobuf,application/json', 'object'],
    ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', 'metadata'],
  ];
  for (const [accept, form] of cases) assert.equal(negotiate(accept), form, accept);
  assert.throws(() => negotiate('application/vnd.kubernetes.protobuf'), { code: 406 });
});

test('a pod is printed with the columns of kubectl, those of -o wide marked by their priority', async () => {
  const clock = new ManualClock();
  await using server = await startServer({ clock });
  server.store.create({
    ...pod('web'),
    spec: {
      nodeName: 'node-1',
      containers: [
        { name: 'a', image: 'i' },
        { name: 'b', image: 'i' },
      ],
    },
    status: {
      phase: 'Running',
      podIP: '10.0.0.7',
      containerStatuses: [
        {
          name: 'a',
          ready: true,
          restartCount: 2,
          state: { running: {} },
          lastState: { terminated: { finishedAt: '2025-12-31T23:59:00Z' } },
        },
        { name: 'b', ready: false, restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } },
      ],
    },
  });
  clock.advance(90_000);
  const { body } = await call(server, 'GET', '/api/v1/namespaces/default/pods', {
    headers: { accept: asTable },
  });
  const columns = listAt(body, 'columnDefinitions').map(
    (column) => `${textAt(column, 'name')}${at(column, 'priority') === 0 ? '' : '*'}`,
  );
  assert.deepEqual(columns, [
    'Name',
    'Ready',
    'Status',
    'Restarts',
    'Age',
    'IP*',
    'Node*',
    'Nominated Node*',
    'Readiness Gates*',
  ]);
  assert.deepEqual(at(body, 'rows', 0, 'cells'), [
    'web',
    '1/2',
    'CrashLoopBackOff',
    '3 (2m30s ago)',
    '90s',
    '10.0.0.7',
    'node-1',
    '<none>',
    '<none>',
  ]);
  assert.equal(at(body, 'rows', 0, 'object', 'kind'), 'PartialObjectMetadata');
});

test('includeObject decides what goes with a row', async () => {
  await using server = await startServer();
  server.store.create(configMap('a', { x: '1' }));
  const rows = async (include: string) =>
    listAt(
      (
        await call(server, 'GET', `/api/v1/namespaces/default/configmaps/a?includeObject=${include}`, {
          headers: { accept: asTable },
        })
      ).body,
      'rows',
    );
  assert.equal(at(await rows('None'), 0, 'object'), undefined);
  assert.deepEqual(at(await rows('Object'), 0, 'object', 'data'), { x: '1' });
});
