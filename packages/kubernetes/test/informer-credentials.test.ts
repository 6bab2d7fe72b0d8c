/** Informers whose credential is not taken any more: each asks a little, all come back, and nobody else feels it. */

import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ManualClock, ResourceBaseline, turns, until } from '@roundhouse/simulators';
import type { RecordedRequest } from '@roundhouse/simulators';
import { Endpoint } from '@roundhouse/transport';
import { Informer, KubernetesError, PresentCredential, TokenFile } from '../src/index.ts';
import type { CredentialSource, KubeObject } from '../src/index.ts';
import { Cluster, anotherAdmin, configMaps } from './rig/cluster.ts';
import { TokenSource } from './rig/token-source.ts';

const admin = { username: 'admin', groups: ['system:masters'] };

const tokenOf = (request: RecordedRequest): string | undefined =>
  request.headerValues('authorization')[0]?.replace(/^Bearer /, '');

const isCalled =
  (name: string) =>
  ({ metadata }: KubeObject): boolean =>
    metadata.name === name;

function open(cluster: Cluster, count: number): readonly Informer[] {
  return Array.from({ length: count }, () => Informer.open(cluster.client, configMaps));
}

async function close(informers: readonly Informer[]): Promise<void> {
  await Promise.all(informers.map((informer) => informer.close()));
}

/** Watches that the server has open, by the tokens that they were asked for with. */
function openWatches(cluster: Cluster): readonly (string | undefined)[] {
  return cluster.apiserver.requests
    .filter((request) => request.path.includes('watch=true') && request.outcome === 'pending')
    .map(tokenOf);
}

/** Lets the clock run until it holds, a second at a time; returns how many that took. */
async function secondsUntil(clock: ManualClock, holds: () => boolean, most: number): Promise<number> {
  for (let seconds = 0; seconds <= most; seconds += 1) {
    for (let turn = 0; turn < 20 && !holds(); turn += 1) {
      await turns(5);
    }
    if (holds()) {
      return seconds;
    }
    clock.advance(1_000);
  }
  throw new Error(`not within ${most} s`);
}

test('BB-06: after each of 20 rotations 10 informers are told 401 at most once each, and none goes on with a former token', async () => {
  await using _baseline = ResourceBaseline.take();
  const rotations = 20;
  const count = 10;
  const clock = new ManualClock();
  const credential = new TokenSource('token-0');
  let current = 'token-0';
  const names = Array.from({ length: rotations + 1 }, (_, index) => `token-${index}`);
  await using cluster = await Cluster.open({
    who: 'nobody',
    authentication: { tokens: Object.fromEntries(names.map((name) => [name, admin])) },
    access: { credential, clock },
  });
  const refused = cluster.apiserver.faults.add({
    match: (request) => tokenOf(request) !== current,
    fault: { kind: 'status', code: 401 },
  });
  const informers = open(cluster, count);
  const all = (): boolean => {
    const watches = openWatches(cluster);
    return watches.length === count && watches.every((token) => token === current);
  };
  await secondsUntil(clock, all, 10);
  for (let rotation = 1; rotation <= rotations; rotation += 1) {
    const before = refused.hits;
    current = `token-${rotation}`;
    credential.next = current;
    // A server that does not take a token any more ends what was asked for with it.
    cluster.apiserver.wire.destroySockets();
    await secondsUntil(clock, all, 15);
    assert.ok(refused.hits - before <= count, `${refused.hits - before} refusals`);
  }
  const before = refused.hits;
  clock.advance(60_000);
  cluster.put('one');
  await until(() => informers.every((informer) => informer.list().length === 1), 'all are told');
  assert.equal(refused.hits, before);
  assert.equal(credential.renewals, rotations);
  assert.equal(openWatches(cluster).length, count);
  await close(informers);
});

test('BB-06: after each rotation of a client certificate all informers watch on with the new one, and list nothing anew', async () => {
  await using _baseline = ResourceBaseline.take();
  const count = 10;
  await using cluster = await Cluster.open({ limits: { drainTimeoutMs: 50, drainSpreadMs: 0 } });
  const informers = open(cluster, count);
  const shown = (): readonly (string | undefined)[] =>
    cluster.apiserver.requests
      .filter((request) => request.path.includes('watch=true') && request.outcome === 'pending')
      .map((request) => request.connection.tls?.clientCommonName);
  await until(() => shown().length === count, 'all watch');
  for (const name of ['second', 'third', 'fourth']) {
    const material = await anotherAdmin(name);
    cluster.identity.rotate(Endpoint.from({ url: cluster.apiserver.url, material }));
    await until(() => shown().length === count && shown().every((other) => other === name), name);
    cluster.put(name);
    await until(() => informers.every((informer) => informer.list().some(isCalled(name))), 'all are told');
  }
  assert.ok(informers.every((informer) => informer.inspect().lists === 1));
  await until(() => cluster.apiserver.open === 1, 'nothing of the former certificates is open');
  await close(informers);
});

test('BB-21: 100 watches that are told 401 for a minute read the token seldom, are back within 15 s, and another cluster feels nothing', async () => {
  await using _baseline = ResourceBaseline.take();
  const count = 100;
  const clock = new ManualClock();
  await using folder = await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-token-'));
  const file = path.join(folder.path, 'token');
  await writeFile(file, 'good');
  let reads = 0;
  await using tokenFile = await TokenFile.open({ path: file, clock });
  /** Counts how often it is read because of a refusal, and how often at once. */
  const counted: CredentialSource & { underWay: number; most: number } = {
    underWay: 0,
    most: 0,
    error: undefined,
    expiresAt: undefined,
    present: () => tokenFile.present(),
    get: () => tokenFile.get(),
    async renew(token) {
      this.underWay += 1;
      const waitsAlready = this.underWay > 1;
      reads += waitsAlready ? 0 : 1;
      await tokenFile.renew(token);
      this.underWay -= 1;
    },
    async [Symbol.asyncDispose]() {},
  };
  const limits = { maxStreamsPerHost: 200, maxWaitingPerHost: 200 };
  const server = { who: 'nobody', authentication: { tokens: { good: admin } }, limits } as const;
  await using cluster = await Cluster.open({ ...server, access: { credential: counted, clock } });
  await using other = await Cluster.open();
  other.put('one');
  const informers = open(cluster, count);
  const all = (): boolean => openWatches(cluster).length === count;
  await secondsUntil(clock, all, 10);

  const refused = cluster.apiserver.faults.add({ match: () => true, fault: { kind: 'status', code: 401 } });
  cluster.apiserver.wire.destroySockets();
  for (let second = 0; second < 60; second += 1) {
    clock.advance(1_000);
    await other.client.get(configMaps, { name: 'one', namespace: 'default' });
    await turns(10);
  }
  assert.ok(informers.every((informer) => informer.inspect().failures > 0));
  // Of 100 that wait up to 10 s each, in a minute.
  assert.ok(refused.hits <= count * 15, `${refused.hits} refusals`);
  assert.ok(reads <= 200, `${reads} reads`);
  refused.remove();
  const seconds = await secondsUntil(clock, all, 15);
  assert.ok(seconds <= 15, `${seconds} s`);
  cluster.put('one');
  await until(() => informers.every((informer) => informer.list().length === 1), 'all are told');
  assert.ok(informers.every((informer) => informer.inspect().lists === 1));
  await close(informers);
});

test('BB-21: a credential that cannot be obtained for a while is asked for again, and 100 informers are back within 15 s', async () => {
  const count = 100;
  const clock = new ManualClock();
  let broken = true;
  const source: CredentialSource = {
    error: undefined,
    expiresAt: undefined,
    present: () => undefined,
    get: async () => {
      if (broken) throw new KubernetesError('ERR_RH_EXEC_PLUGIN_FAILED', 'it is broken');
      return new PresentCredential({ token: 'good' });
    },
    renew: async () => undefined,
    async [Symbol.asyncDispose]() {},
  };
  const limits = { maxStreamsPerHost: 200, maxWaitingPerHost: 200 };
  await using cluster = await Cluster.open({
    who: 'nobody',
    authentication: { tokens: { good: admin } },
    access: { credential: source, clock },
    limits,
  });
  const informers = open(cluster, count);
  for (let second = 0; second < 30; second += 1) {
    clock.advance(1_000);
    await turns(1);
  }
  assert.equal(cluster.apiserver.received, 0);
  assert.match(String(informers[0]?.inspect().error), /it is broken/);
  broken = false;
  await secondsUntil(clock, () => openWatches(cluster).length === count, 15);
  await close(informers);
});
