/** An informer whose network goes silent, without an error and without an end. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { ManualClock, Relay, ResourceBaseline, turns, until } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import type { Dialer } from '@roundhouse/transport';
import { Informer, KubeClient } from '../src/index.ts';
import { Cluster, configMaps, endpointOf } from './rig/cluster.ts';
import { Told } from './rig/told.ts';

const timeoutMs = 60_000;

/** An informer by a clock of the test, over a relay that a test may freeze, or leave for another one. */
class Frozen implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly cluster: Cluster;
  readonly relays: readonly Relay[];
  readonly pool: TransportPool;
  readonly informer: Informer;
  readonly told: Told;
  /** The relay that is dialed; undefined: there is no way. */
  way: number | undefined = 0;

  private constructor(cluster: Cluster, relays: readonly Relay[], protocol: HttpProtocol) {
    this.cluster = cluster;
    this.relays = relays;
    // Over HTTP/2 a ping without an answer notices first, over HTTP/1.1 the time limit of the watch.
    this.pool = new TransportPool({ clock: this.clock });
    const dialer: Dialer = {
      id: 'by-relay',
      dial: async (_target, { signal }) => {
        const relay = this.way === undefined ? undefined : relays[this.way];
        if (relay === undefined) throw new Error('no way');
        const socket = connect({ host: '127.0.0.1', port: relay.port });
        await once(socket, 'connect', { signal });
        return socket;
      },
    };
    const { material } = endpointOf(cluster.apiserver.url);
    const endpoint = Endpoint.from({ url: cluster.apiserver.url, material, alpn: protocol, dialer });
    const client = new KubeClient({ sender: this.pool.identity('frozen', endpoint), clock: this.clock });
    this.informer = Informer.open(client, configMaps, { timeoutMs });
    this.told = new Told(this.informer);
  }

  static async open(protocol: HttpProtocol): Promise<Frozen> {
    const cluster = await Cluster.open();
    cluster.put('first');
    const target = { port: cluster.apiserver.port };
    const relays = [await Relay.listen({ target }), await Relay.listen({ target })];
    const frozen = new Frozen(cluster, relays, protocol);
    await frozen.informer.synced;
    await until(() => frozen.watches === 1, 'a watch');
    return frozen;
  }

  get watches(): number {
    return this.cluster.apiserver.requests.filter((request) => request.path.includes('watch=true')).length;
  }

  /** So many seconds, one after the other, with what they bring; ends early when it holds. */
  async seconds(count: number, holds: () => boolean = () => false): Promise<number> {
    for (let second = 0; second < count; second += 1) {
      if (holds()) return second;
      this.clock.advance(1_000);
      await turns(20);
    }
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.close();
    await this.pool.destroy();
    await this.cluster[Symbol.asyncDispose]();
    for (const relay of this.relays) await relay[Symbol.asyncDispose]();
  }
}

for (const protocol of ['http/1.1', 'h2'] as const) {
  suite(`BB-53: ${protocol}: frozen 10 s after the beginning, a change 10 s later`, () => {
    test('a connection that never comes back: it goes on where it was within 10 s after the time of its watch, over another one', async () => {
      await using _baseline = ResourceBaseline.take();
      await using rig = await Frozen.open(protocol);
      const { resourceVersion } = rig.informer.inspect();
      await rig.seconds(10);
      rig.relays[0]?.freeze();
      rig.way = 1;
      await rig.seconds(10);
      rig.cluster.put('second');
      const known = (): boolean => rig.told.all.includes('added second');
      const seconds = await rig.seconds(100, known);
      assert.ok(20 + seconds <= 70, `after ${20 + seconds} s`);
      assert.deepEqual(rig.told.all, ['added first', 'added second']);
      assert.equal(rig.informer.inspect().lists, 1);
      const last = rig.cluster.queries('/api/v1/configmaps').at(-1);
      assert.equal(last?.get('resourceVersion'), resourceVersion);
    });

    test('a network that comes back after 100 s: nothing is missed, and nothing told twice', async () => {
      await using rig = await Frozen.open(protocol);
      await rig.seconds(10);
      rig.relays[0]?.freeze();
      rig.way = undefined;
      await rig.seconds(10);
      rig.cluster.put('second');
      rig.cluster.put('second', { a: '1' });
      await rig.seconds(80);
      assert.deepEqual(rig.told.all, ['added first']);
      rig.way = 1;
      const seconds = await rig.seconds(60, () => rig.told.all.includes('updated second'));
      // An endpoint that is down rests for 30 s at most, and an informer waits for 10 s at most.
      assert.ok(seconds <= 45, `after ${seconds} s`);
      assert.deepEqual(rig.told.all, ['added first', 'added second', 'updated second']);
      assert.equal(rig.informer.inspect().lists, 1);
    });
  });
}
