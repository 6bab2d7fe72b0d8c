/** An informer against a simulated kube-apiserver: what it knows, what it tells, and what it asks for. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ManualClock, ResourceBaseline, turns, until } from '@roundhouse/simulators';
import type { ActiveFault, Fault, RecordedRequest } from '@roundhouse/simulators';
import { RoundhouseError } from '@roundhouse/transport';
import { Informer, ShapeError } from '../src/index.ts';
import type { InformerOptions, ResourceType } from '../src/index.ts';
import { Cluster, configMap, configMaps, names } from './rig/cluster.ts';
import type { ClusterOptions } from './rig/cluster.ts';
import { StuckSource } from './rig/stuck-source.ts';
import { Told } from './rig/told.ts';

const path = '/api/v1/configmaps';
const isWatch = (request: RecordedRequest): boolean => request.path.includes('watch=true');
const isList = (request: RecordedRequest): boolean => !isWatch(request);

/** A cluster, and an informer of its config maps whose back-off goes by a clock of the test. */
class Rig implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly clock: ManualClock;
  readonly informer: Informer;
  readonly told: Told;
  readonly errors: Error[] = [];

  private constructor(cluster: Cluster, clock: ManualClock, options: InformerOptions, type: ResourceType) {
    this.cluster = cluster;
    this.clock = clock;
    this.informer = Informer.open(cluster.client, type, {
      onError: (error) => this.errors.push(error),
      ...options,
    });
    this.told = new Told(this.informer);
  }

  static async open(
    fill: (cluster: Cluster) => void,
    options: InformerOptions = {},
    server: ClusterOptions = {},
    type: ResourceType = configMaps,
  ): Promise<Rig> {
    const clock = new ManualClock();
    const cluster = await Cluster.open({ ...server, access: { clock } });
    fill(cluster);
    return new Rig(cluster, clock, options, type);
  }

  get codes(): readonly string[] {
    return this.errors.map((error) => (RoundhouseError.is(error) ? error.code : String(error)));
  }

  get lists(): number {
    return this.cluster.apiserver.requests.filter(isList).length;
  }

  get watches(): number {
    return this.cluster.apiserver.requests.filter(isWatch).length;
  }

  remove(name: string): void {
    this.cluster.apiserver.store.delete({ apiVersion: 'v1', kind: 'ConfigMap', name });
  }

  fault(match: (request: RecordedRequest) => boolean, fault: Fault, times = Infinity): ActiveFault {
    return this.cluster.apiserver.faults.add({ match, fault, times });
  }

  /** Waits until it waits for its next attempt, and lets that come. */
  async retry(): Promise<void> {
    await this.waits();
    this.clock.advance(10_000);
    await turns(1);
  }

  async waits(): Promise<void> {
    await until(() => this.informer.inspect().state === 'waiting', 'it waits');
  }

  /** Resolves when the server has so many watches open. */
  async watching(count: number): Promise<void> {
    await until(() => this.watches >= count, `${count} watches`);
    await turns();
  }

  /** Cuts every connection, as a network does. */
  cut(): void {
    this.cluster.apiserver.wire.destroySockets();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.close();
    await this.cluster[Symbol.asyncDispose]();
    assert.equal(this.clock.pending, 0);
  }
}

suite('what it knows and tells', () => {
  test('it knows what is there, and is told of each change once, without another list', async () => {
    await using _baseline = ResourceBaseline.take();
    await using rig = await Rig.open((cluster) => {
      cluster.put('one');
      cluster.put('two', {}, 'kube-system');
    });
    const { informer, told, cluster } = rig;
    await informer.synced;
    assert.deepEqual(told.take(), ['added one', 'added two']);
    assert.deepEqual(names(informer.list()), ['one', 'two']);
    assert.deepEqual(names(informer.list('kube-system')), ['two']);
    assert.deepEqual(informer.list('elsewhere'), []);

    cluster.put('one', { a: '1' });
    cluster.put('three');
    rig.remove('one');
    await told.reach(3);
    assert.deepEqual(told.take(), ['updated one', 'added three', 'deleted one']);
    assert.equal(informer.get({ name: 'one', namespace: 'default' }), undefined);
    assert.equal(informer.get({ name: 'three', namespace: 'default' })?.kind, 'ConfigMap');
    assert.deepEqual([rig.lists, rig.watches, cluster.apiserver.accepted], [1, 1, 1]);
    assert.deepEqual(informer.inspect(), {
      state: 'watching',
      resourceVersion: String(cluster.apiserver.store.revision),
      lists: 1,
      watches: 1,
      failures: 0,
      resource: 'configmaps',
      synced: true,
      objects: 2,
      subscribers: 1,
      error: undefined,
    });
  });

  test('who subscribes later is told what is there, and nothing more when he is gone', async () => {
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    const late = new Told(rig.informer);
    assert.deepEqual(late.take(), ['added one']);
    rig.cluster.put('two');
    await late.reach(1);
    late[Symbol.dispose]();
    rig.cluster.put('three');
    await rig.told.reach(3);
    assert.deepEqual(late.all, ['added two']);
  });

  test('selectors and a namespace hold for the list and for the watch', async () => {
    await using rig = await Rig.open(
      (cluster) => {
        cluster.apiserver.store.put(configMap('in', {}, 'default', { a: '1' }));
        cluster.apiserver.store.put(configMap('elsewhere', {}, 'kube-system', { a: '1' }));
        cluster.put('out');
      },
      { namespace: 'default', labelSelector: 'a=1', fieldSelector: 'metadata.name!=never' },
    );
    await rig.informer.synced;
    rig.cluster.apiserver.store.put(configMap('out', {}, 'default', { a: '1' }));
    rig.cluster.apiserver.store.put(configMap('in', {}, 'default', { a: '2' }));
    rig.cluster.apiserver.store.put(configMap('never', {}, 'default', { a: '1' }));
    rig.cluster.apiserver.store.put(configMap('last', {}, 'default', { a: '1' }));
    await rig.told.reach(4);
    assert.deepEqual(rig.told.all, ['added in', 'added out', 'deleted in', 'added last']);
  });

  test('10,000 objects come in pages of 500, and are all there', async () => {
    const count = 10_000;
    await using rig = await Rig.open((cluster) => {
      for (let index = 0; index < count; index += 1) cluster.put(`c-${index}`);
    });
    await rig.informer.synced;
    assert.equal(rig.informer.inspect().objects, count);
    assert.equal(rig.lists, count / 500);
    const asked = rig.cluster.queries(path).filter((query) => !query.has('watch'));
    assert.deepEqual([...new Set(asked.map((query) => query.get('limit')))], ['500']);
  });

  test('an object that cannot be read is passed over, told of, and kept as it could be read last', async () => {
    const picky: ResourceType = {
      ...configMaps,
      read: (object) => {
        if (JSON.stringify(object['data']).includes('bad')) throw new ShapeError('its data is bad');
        return object;
      },
    };
    await using rig = await Rig.open(
      (cluster) => {
        cluster.put('one', { a: 'bad' });
        cluster.put('two');
      },
      {},
      {},
      picky,
    );
    await rig.informer.synced;
    rig.cluster.put('two', { a: 'bad' });
    await until(() => rig.errors.length === 2, 'two errors');
    assert.match(rig.errors.join(), /default\/one of configmaps .*its data is bad.*default\/two/);
    rig.cluster.apiserver.store.compact();
    rig.cut();
    await rig.retry();
    rig.cluster.put('three');
    await rig.told.reach(2);
    assert.deepEqual(rig.told.all, ['added two', 'added three']);
    assert.deepEqual(names(rig.informer.list()), ['three', 'two']);
  });

  test('what owns the fields of an object is not kept', async () => {
    await using rig = await Rig.open(() => undefined);
    await rig.cluster.client.create(configMaps, configMap('one'));
    await rig.told.reach(1);
    assert.equal(rig.informer.list()[0]?.metadata['managedFields'], undefined);
  });

  test('more objects than are kept: nothing is known until there are fewer', async () => {
    await using rig = await Rig.open(
      (cluster) => {
        for (const name of ['a', 'b', 'c']) cluster.put(name);
      },
      { maxObjects: 2 },
    );
    await rig.waits();
    assert.deepEqual(rig.codes, ['ERR_RH_INFORMER_FULL']);
    assert.deepEqual([rig.informer.inspect().synced, rig.informer.inspect().objects], [false, 2]);
    rig.remove('a');
    await rig.retry();
    await rig.informer.synced;
    assert.deepEqual(names(rig.informer.list()), ['b', 'c']);
    rig.cluster.put('d');
    await rig.waits();
    assert.deepEqual(rig.codes, ['ERR_RH_INFORMER_FULL', 'ERR_RH_INFORMER_FULL']);
  });
});

suite('what comes in between', () => {
  test('a watch that is cut goes on from where it was: no list, nothing missed, nothing twice', async () => {
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    await rig.watching(1);
    rig.cluster.put('two');
    await rig.told.reach(2);
    const { resourceVersion } = rig.informer.inspect();
    rig.cut();
    await rig.waits();
    rig.cluster.put('three');
    rig.remove('one');
    rig.clock.advance(10_000);
    await rig.told.reach(4);
    assert.deepEqual(rig.told.all, ['added one', 'added two', 'added three', 'deleted one']);
    assert.deepEqual([rig.lists, rig.watches], [1, 2]);
    assert.equal(rig.cluster.queries(path).at(-1)?.get('resourceVersion'), resourceVersion);
  });

  test('a bookmark moves that place on, so that a quiet watch does not have to list', async () => {
    const server = { clock: new ManualClock(), bookmarkIntervalMs: 60_000 };
    await using rig = await Rig.open((cluster) => void cluster.put('one'), {}, server);
    await rig.informer.synced;
    await rig.watching(1);
    for (let index = 0; index < 5; index += 1) {
      rig.cluster.apiserver.store.put({ apiVersion: 'v1', kind: 'Secret', metadata: { name: `s-${index}` } });
    }
    const version = String(rig.cluster.apiserver.store.revision);
    server.clock.advance(60_000);
    await until(() => rig.informer.inspect().resourceVersion === version, 'the bookmark has come');
    rig.cluster.apiserver.store.compact();
    rig.cut();
    await rig.retry();
    rig.cluster.put('two');
    await rig.told.reach(2);
    assert.deepEqual([rig.lists, rig.watches], [1, 2]);
  });

  test('410: it lists anew, and tells what vanished, came, changed and was made anew meanwhile', async () => {
    await using rig = await Rig.open((cluster) => {
      for (const name of ['gone', 'same', 'changed', 'anew']) cluster.put(name);
    });
    await rig.informer.synced;
    await rig.watching(1);
    rig.told.take();
    rig.cut();
    await rig.waits();
    rig.remove('gone');
    rig.remove('anew');
    rig.cluster.put('anew');
    rig.cluster.put('changed', { a: '1' });
    rig.cluster.put('new');
    rig.cluster.apiserver.store.compact();
    await rig.retry();
    await rig.told.reach(5);
    await rig.watching(3);
    assert.deepEqual(rig.told.all.toSorted(), [
      'added anew',
      'added new',
      'deleted anew',
      'deleted gone',
      'updated changed',
    ]);
    assert.ok(rig.told.all.indexOf('deleted anew') < rig.told.all.indexOf('added anew'));
    assert.equal(rig.lists, 2);
    assert.deepEqual(names(rig.informer.list()), ['anew', 'changed', 'new', 'same']);
  });

  test('410 for a place that was given out just now is a failure like any other', async () => {
    await using rig = await Rig.open(() => undefined);
    rig.fault(isWatch, { kind: 'status', code: 410 });
    for (let round = 1; round <= 4; round += 1) {
      await rig.waits();
      assert.deepEqual([rig.lists, rig.watches, rig.informer.inspect().failures], [round, round, round]);
      await rig.retry();
    }
  });

  test('a list whose pages are forgotten while it is read comes in one piece the next time', async () => {
    await using rig = await Rig.open(
      (cluster) => {
        for (let index = 0; index < 7; index += 1) cluster.put(`c-${index}`);
      },
      { pageSize: 3 },
    );
    rig.fault((request) => request.path.includes('continue='), { kind: 'status', code: 410 }, 1);
    await rig.retry();
    await rig.informer.synced;
    const limits = rig.cluster.queries(path).map((query) => query.get('limit'));
    assert.deepEqual(limits.slice(0, 3), ['3', '3', null]);
    assert.equal(rig.told.all.length, 7);
  });

  test('a version that is ahead of the server is given up, as after a restore of etcd', async () => {
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    await rig.watching(1);
    const body = {
      kind: 'Status',
      code: 504,
      reason: 'Timeout',
      message: 'Too large resource version: 9, current: 1',
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
    };
    rig.fault(isWatch, { kind: 'status', code: 504, body }, 1);
    rig.cut();
    await rig.retry();
    await rig.retry();
    await rig.watching(3);
    assert.equal(rig.lists, 2);
  });

  test('an event that is none makes it list anew, since one may be lost', async () => {
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    await rig.watching(1);
    rig.fault(isWatch, { kind: 'status', code: 200, body: '{"type":"AD' }, 1);
    rig.cut();
    await rig.retry();
    await rig.retry();
    await rig.watching(3);
    assert.equal(rig.lists, 2);
    assert.ok(rig.codes.includes('ERR_RH_WATCH_INVALID'));
  });
});

suite('failures', () => {
  test('each in a row is followed by a longer wait, between half and all of 800 ms, 1.6 s, ... 10 s', async () => {
    await using rig = await Rig.open(() => undefined, { random: () => 0 });
    const fault = rig.fault(isList, { kind: 'status', code: 500 });
    const waits: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      await rig.waits();
      const before = rig.lists;
      let waitedMs = 0;
      while (rig.informer.inspect().state === 'waiting') {
        rig.clock.advance(100);
        waitedMs += 100;
        await turns(1);
      }
      waits.push(waitedMs);
      await until(() => rig.lists > before, 'another list');
    }
    assert.deepEqual(waits, [400, 800, 1_600, 3_200, 5_000, 5_000]);
    assert.equal(rig.informer.inspect().failures, 6);
    fault.remove();
    await rig.retry();
    await rig.informer.synced;
    assert.equal(rig.informer.inspect().error, undefined);
  });

  test('a server that names a time is not asked before', async () => {
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    await rig.watching(1);
    const headers = { 'Retry-After': '30' };
    rig.fault(isWatch, { kind: 'status', code: 429, headers }, 1);
    rig.cut();
    await rig.retry();
    await rig.waits();
    rig.clock.advance(29_000);
    await turns();
    assert.equal(rig.informer.inspect().state, 'waiting');
    rig.clock.advance(1_000);
    await rig.watching(3);
    assert.equal(rig.lists, 1);
  });

  test('a server that ends each watch at once is not asked at once each time', async () => {
    await using rig = await Rig.open(() => undefined);
    rig.fault(isWatch, { kind: 'status', code: 200, body: '' });
    for (let round = 1; round <= 4; round += 1) {
      await rig.waits();
      assert.equal(rig.watches, round);
      assert.equal(rig.informer.inspect().failures, round);
      await rig.retry();
    }
    assert.deepEqual(rig.errors, []);
  });

  test('without a right it goes on asking, says so, and works as soon as it is given', async () => {
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    await rig.watching(1);
    const fault = rig.fault(() => true, { kind: 'status', code: 403 });
    rig.cut();
    await rig.retry();
    await rig.waits();
    assert.match(String(rig.informer.inspect().error), /403 Forbidden/);
    assert.deepEqual(names(rig.informer.list()), ['one']);
    fault.remove();
    rig.cluster.put('two');
    rig.clock.advance(10_000);
    await rig.told.reach(2);
    assert.deepEqual([rig.lists, rig.informer.inspect().error], [1, undefined]);
  });
});

suite('its end', () => {
  test('closing it ends its watch, and nobody is told anything more', async () => {
    await using _baseline = ResourceBaseline.take();
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    await rig.watching(1);
    const closed = [rig.informer.close(), rig.informer.close()];
    rig.cluster.put('two');
    await Promise.all(closed);
    await until(() => rig.cluster.identity.inFlight === 0, 'nothing is under way');
    assert.deepEqual(rig.told.all, ['added one']);
    assert.equal(rig.informer.inspect().state, 'ended');
    assert.deepEqual(rig.errors, []);
  });

  test('closed before it knew what there is, it says so to whoever waits', async () => {
    await using rig = await Rig.open(() => undefined);
    rig.fault(isList, { kind: 'silence' });
    await until(() => rig.lists === 1, 'a list');
    await rig.informer.close();
    await assert.rejects(rig.informer.synced, /ERR_RH_INFORMER_CLOSED/);
  });

  test('it closes while it waits for a credential', async () => {
    const credential = new StuckSource(undefined);
    await using cluster = await Cluster.open({ access: { credential } });
    const informer = Informer.open(cluster.client, configMaps);
    await until(() => credential.waiting === 1, 'it waits');
    await informer.close();
    assert.equal(informer.inspect().state, 'ended');
    assert.equal(cluster.apiserver.received, 0);
  });

  test('when the identity that it goes over has ended it ends by itself, with that reason', async () => {
    await using rig = await Rig.open((cluster) => void cluster.put('one'));
    await rig.informer.synced;
    await rig.watching(1);
    await rig.cluster.identity.close();
    await until(() => rig.informer.inspect().state === 'ended', 'it has ended');
    assert.match(String(rig.informer.inspect().error), /ERR_RH_IDENTITY_CLOSED/);
    assert.equal(rig.watches, 1);
  });
});
