/** Several processes and one Lease: who leads, and that never two do. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock, ResourceBaseline, turns, until } from '@roundhouse/simulators';
import { KubeClient, LeaderElection } from '../src/index.ts';
import type { LeaderElectionOptions } from '../src/index.ts';
import { Cluster } from './rig/cluster.ts';

const place = { namespace: 'default', name: 'operator' };
const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: 'operator' };

interface Holder {
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly leaseTransitions: number;
}

/** Elections of one cluster by one clock, and who has led since when. */
class Rig implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly cluster: Cluster;
  readonly history: string[] = [];
  readonly errors: unknown[] = [];
  readonly #open: LeaderElection[] = [];

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  static async open(): Promise<Rig> {
    return new Rig(await Cluster.open());
  }

  elect(identity: string, options: Partial<LeaderElectionOptions> = {}): LeaderElection {
    const client = new KubeClient({ sender: this.cluster.identity, clock: this.clock });
    const election = LeaderElection.open(client, {
      ...place,
      identity,
      random: () => 0,
      onError: (error) => this.errors.push(error),
      onLeading: (signal) => {
        this.history.push(`${identity} leads`);
        signal.addEventListener('abort', () => this.history.push(`${identity} ends`));
      },
      ...options,
    });
    this.#open.push(election);
    return election;
  }

  get holder(): Holder | undefined {
    return this.cluster.apiserver.store.get(lease)?.['spec'] as Holder | undefined;
  }

  /** So many seconds, one after the other, with what they bring. Never do two lead. */
  async seconds(count: number, holds: () => boolean = () => false): Promise<number> {
    for (let second = 0; second < count; second += 1) {
      await this.#quiet();
      assert.ok(this.#open.filter(({ leading }) => leading).length <= 1, 'two lead');
      if (holds()) return second;
      this.clock.advance(1_000);
    }
    return count;
  }

  /** What the passing of a second has begun is over: a read, and perhaps a write behind it. */
  async #quiet(): Promise<void> {
    for (let request = 0; request < 3; request += 1) {
      await turns(3);
      await until(() => this.cluster.identity.inFlight === 0, 'nothing is under way');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#open.map((election) => election.close()));
    await this.cluster[Symbol.asyncDispose]();
    assert.equal(this.clock.pending, 0);
  }
}

test('the first to come leads and renews, another one looks, and has the Lease at once when it is given back', async () => {
  await using _baseline = ResourceBaseline.take();
  await using rig = await Rig.open();
  const a = rig.elect('a');
  await rig.seconds(1);
  const b = rig.elect('b');
  await rig.seconds(60);
  assert.deepEqual(rig.history, ['a leads']);
  assert.deepEqual([a.leading, b.leading, a.leader, b.leader], [true, false, 'a', 'a']);
  await a.close();
  assert.deepEqual(rig.history, ['a leads', 'a ends']);
  const seconds = await rig.seconds(10, () => b.leading);
  assert.ok(seconds <= 4, `after ${seconds} s`);
  assert.deepEqual([rig.holder?.holderIdentity, rig.holder?.leaseTransitions], ['b', 1]);
  assert.deepEqual(rig.errors, []);
});

test('a leader that has gone without a word is followed when its Lease is over, and not before', async () => {
  await using rig = await Rig.open();
  const started = rig.clock.now();
  // Written by a process whose clock is an hour ahead.
  rig.cluster.apiserver.store.put({
    apiVersion: lease.apiVersion,
    kind: lease.kind,
    metadata: place,
    spec: {
      holderIdentity: 'gone',
      leaseDurationSeconds: 15,
      renewTime: new Date(started + 3_600_000).toISOString().replace('Z', '000Z'),
    },
  });
  const b = rig.elect('b');
  const seconds = await rig.seconds(60, () => b.leading);
  assert.ok(seconds >= 15 && seconds <= 19, `after ${seconds} s`);
});

test('a leader that cannot renew ends after 10 s, before another one begins; it comes back as a follower', async () => {
  await using rig = await Rig.open();
  const a = rig.elect('a');
  await rig.seconds(1);
  const cut = rig.cluster.apiserver.faults.add({
    match: ({ method, path }) => path.includes('leases') && method === 'PUT',
    fault: { kind: 'status', code: 500 },
  });
  const ended = await rig.seconds(20, () => !a.leading);
  assert.ok(ended >= 7 && ended <= 11, `after ${ended} s`);
  assert.ok(rig.errors.length > 0);
  const b = rig.elect('b');
  await a.close();
  cut.remove();
  await rig.seconds(30, () => b.leading);
  assert.deepEqual(rig.history, ['a leads', 'a ends', 'b leads']);
});

test('a leader that stood still for longer than its Lease does not go on as if nothing had been', async () => {
  await using rig = await Rig.open();
  const a = rig.elect('a');
  await rig.seconds(1);
  rig.clock.jump(20_000);
  assert.equal(a.leading, false);
  await rig.seconds(10, () => a.leading);
  assert.deepEqual(rig.history, ['a leads', 'a ends', 'a leads']);
});

test('of ten that want an abandoned Lease at the same time one gets it', async () => {
  await using rig = await Rig.open();
  const elections = Array.from({ length: 10 }, (_, index) => rig.elect(`p-${index}`));
  await rig.seconds(20);
  assert.equal(rig.history.length, 1);
  assert.equal(elections.filter(({ leading }) => leading).length, 1);
  assert.deepEqual(rig.errors, []);
});

test('when the Lease is deleted, or taken by somebody else, the leader notices', async () => {
  await using rig = await Rig.open();
  const a = rig.elect('a');
  await rig.seconds(1);
  rig.cluster.apiserver.store.delete(lease);
  await rig.seconds(5, () => rig.holder !== undefined);
  assert.deepEqual([rig.holder?.holderIdentity, rig.history], ['a', ['a leads']]);
  rig.cluster.apiserver.store.update(lease, (found) => ({
    ...found,
    spec: { ...(found['spec'] as object), holderIdentity: 'thief' },
  }));
  await rig.seconds(5, () => !a.leading);
  assert.deepEqual(rig.history, ['a leads', 'a ends']);
  assert.equal(a.leader, 'thief');
});

test('times in which two could lead, and a process without a name, are refused', async () => {
  await using rig = await Rig.open();
  for (const options of [
    { leaseMs: 10_000 },
    { renewLimitMs: 2_000 },
    { intervalMs: Number.NaN },
    { identity: '' },
  ]) {
    assert.throws(() => rig.elect('a', options), /ERR_RH_LEASE_INVALID/);
  }
  await until(() => rig.cluster.apiserver.received === 0, 'nothing was sent');
});
