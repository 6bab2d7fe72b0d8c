/** Events as people see them, and what they cost. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock, ResourceBaseline, until } from '@roundhouse/simulators';
import { EventRecorder } from '../src/index.ts';
import type { EventNote, KubeObject } from '../src/index.ts';
import { Cluster, configMaps } from './rig/cluster.ts';

const note: EventNote = { type: 'Warning', reason: 'SecretMissing', action: 'Reconcile', note: 'no Secret' };

interface Seen {
  readonly note: string;
  readonly reason: string;
  readonly series?: { readonly count: number };
  readonly regarding: { readonly name: string; readonly uid: string };
}

class Rig implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly cluster: Cluster;
  readonly recorder: EventRecorder;
  readonly errors: unknown[] = [];

  private constructor(clock: ManualClock, cluster: Cluster) {
    this.clock = clock;
    this.cluster = cluster;
    this.recorder = new EventRecorder(cluster.client, {
      controller: 'roundhouse.dev/rig',
      instance: 'rig-0',
      onError: (error) => this.errors.push(error),
    });
  }

  static async open(): Promise<Rig> {
    const clock = new ManualClock();
    return new Rig(clock, await Cluster.open({ access: { clock } }));
  }

  async object(name: string): Promise<KubeObject> {
    this.cluster.put(name);
    return this.cluster.client.get(configMaps, { name, namespace: 'default' });
  }

  get events(): readonly Seen[] {
    return this.cluster.apiserver.store.list({
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
    }) as unknown as readonly Seen[];
  }

  get writes(): number {
    return this.cluster.apiserver.requests.filter(({ method }) => method !== 'GET').length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.recorder.close();
    await this.cluster[Symbol.asyncDispose]();
  }
}

test('an event says what of which object, and the same once more is counted on it, written at most once a minute', async () => {
  await using _baseline = ResourceBaseline.take();
  await using rig = await Rig.open();
  const one = await rig.object('one');
  rig.recorder.record(one, note);
  await until(() => rig.events.length === 1, 'an event');
  const [seen] = rig.events;
  assert.equal(seen?.reason, 'SecretMissing');
  for (let times = 0; times < 50; times += 1) rig.recorder.record(one, note);
  await until(() => rig.events[0]?.series?.count === 2, 'the second is counted');
  rig.clock.advance(60_000);
  rig.recorder.record(one, note);
  await until(() => rig.events[0]?.series?.count === 52, 'all are counted');
  assert.deepEqual([rig.events.length, rig.writes], [1, 3]);
  rig.clock.advance(700_000);
  rig.recorder.record(one, note);
  await until(() => rig.events.length === 2, 'later it is an event of its own');
  assert.deepEqual(rig.errors, []);
});

test('another object, reason or text is another event, and one that was cleaned up is written anew', async () => {
  await using rig = await Rig.open();
  const [one, two] = [await rig.object('one'), await rig.object('two')];
  rig.recorder.record(one, note);
  rig.recorder.record(two, note);
  rig.recorder.record(one, { ...note, reason: 'Other' });
  rig.recorder.record(one, { ...note, note: 'x'.repeat(5_000) });
  await until(() => rig.events.length === 4, 'four events');
  for (const { name } of rig.cluster.apiserver.store
    .list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })
    .map(({ metadata }) => metadata)) {
    rig.cluster.apiserver.store.delete({ apiVersion: 'events.k8s.io/v1', kind: 'Event', name: name ?? '' });
  }
  rig.recorder.record(one, note);
  await until(() => rig.events.length === 1, 'it is written anew');
  assert.deepEqual(rig.errors, []);
});

test('an event that cannot be written is told of and holds nothing up; what is too much is left out and counted', async () => {
  await using rig = await Rig.open();
  const one = await rig.object('one');
  const fault = rig.cluster.apiserver.faults.add({
    match: ({ method }) => method === 'POST',
    fault: { kind: 'status', code: 403 },
  });
  rig.recorder.record(one, note);
  await until(() => rig.errors.length === 1, 'an error');
  fault.remove();
  for (let index = 0; index < 150; index += 1) rig.recorder.record(one, { ...note, reason: `R${index}` });
  assert.ok(rig.recorder.dropped >= 49 && rig.recorder.dropped <= 50, `${rig.recorder.dropped}`);
  await rig.recorder.close();
  assert.ok(rig.recorder.dropped >= 148, `${rig.recorder.dropped}`);
  rig.recorder.record(one, note);
  assert.ok(rig.events.length <= 1);
});
