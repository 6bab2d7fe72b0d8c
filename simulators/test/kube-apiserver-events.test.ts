// What the simulator's own controllers tell, and how they count what they have told before.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listAt, textAt } from '../src/kube-apiserver/json.ts';
import type { Json } from '../src/kube-apiserver/json.ts';
import type { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import { ManualClock } from '../src/manual-clock.ts';
import { call, pod, settle, startServer } from './kube-apiserver-client.ts';

async function eventsOf(server: KubeApiserver, reason: string): Promise<readonly Json[]> {
  const { body } = await call(server, 'GET', `/api/v1/events?fieldSelector=reason%3D${reason}`);
  return listAt(body, 'items');
}

test('an event that comes again is counted, with the time of the last', async () => {
  const clock = new ManualClock();
  await using server = await startServer({ controllers: true, clock });
  const labels = { app: 'web' };
  const scaled = (replicas: number) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'image:1' }] } },
    },
  });
  for (const replicas of [1, 0, 1]) {
    server.store.put(scaled(replicas));
    await settle(clock);
  }
  const told = (await eventsOf(server, 'ScalingReplicaSet')).map((event) => [
    textAt(event, 'message').replace(/set \S+/, 'set'),
    at(event, 'count'),
    at(event, 'firstTimestamp') === at(event, 'lastTimestamp'),
  ]);
  assert.deepEqual(
    told.toSorted(([left], [right]) => (String(left) < String(right) ? -1 : 1)),
    [
      ['Scaled down replica set from 1 to 0', 1, true],
      ['Scaled up replica set from 0 to 1', 2, false],
    ],
  );
});

test('a pod that finds no node is told of by the scheduler, as a series when it tries again', async () => {
  const clock = new ManualClock();
  await using server = await startServer({ controllers: true, clock });
  await settle(clock);
  for (const { metadata } of server.store.list({ apiVersion: 'v1', kind: 'Node' }))
    server.store.update({ apiVersion: 'v1', kind: 'Node', name: metadata.name ?? '' }, (node) => ({
      ...node,
      spec: { unschedulable: true },
    }));
  await settle(clock);
  server.store.create(pod('a'));
  await settle(clock);
  const [event, ...others] = await eventsOf(server, 'FailedScheduling');
  assert.equal(others.length, 0);
  assert.deepEqual(
    ['type', 'message', 'reportingComponent', 'action', 'series'].map((field) => at(event, field)),
    [
      'Warning',
      '0/2 nodes are available: 2 node(s) were unschedulable.',
      'default-scheduler',
      'Scheduling',
      undefined,
    ],
  );
  server.store.create(pod('b'));
  await settle(clock);
  const series = (await eventsOf(server, 'FailedScheduling')).map((each) => [
    at(each, 'involvedObject', 'name'),
    at(each, 'series', 'count'),
  ]);
  assert.deepEqual(Object.fromEntries(series.map(([name, count]) => [String(name), count])), {
    a: 2,
    b: undefined,
  });
});
