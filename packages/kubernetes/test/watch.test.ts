/** One watch: what it tells, and all the ways in which it ends. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ManualClock, RecordingServer, Relay, ResourceBaseline, until } from '@roundhouse/simulators';
import type { Exchange } from '@roundhouse/simulators';
import { Endpoint, RoundhouseError, TransportPool } from '@roundhouse/transport';
import { KubeClient, isApiStatus } from '../src/index.ts';
import type { WatchEvent, WatchOptions } from '../src/index.ts';
import { Cluster, configMap, configMaps } from './rig/cluster.ts';
import { TokenSource } from './rig/token-source.ts';

/** What was told, in short: `ADDED one`. */
class Events {
  readonly told: string[] = [];
  readonly versions: string[] = [];

  readonly onEvent = (event: WatchEvent): void => {
    this.told.push(event.type === 'BOOKMARK' ? event.type : `${event.type} ${event.object.metadata.name}`);
    this.versions.push(
      event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? ''),
    );
  };

  async reach(count: number): Promise<void> {
    await until(() => this.told.length >= count, `${count} events; there are ${this.told.join(', ')}`);
  }
}

async function ended(watching: Promise<void>): Promise<unknown> {
  return watching.then(
    () => 'well',
    (error: unknown) => error,
  );
}

function codeOf(error: unknown): string {
  return RoundhouseError.is(error) ? error.code : String(error);
}

suite('over a simulated kube-apiserver', () => {
  test('changes are told as they happen, from a version on, until the signal says so', async () => {
    await using _baseline = ResourceBaseline.take();
    await using cluster = await Cluster.open();
    cluster.put('before');
    const { resourceVersion } = await cluster.client.list(configMaps);
    const events = new Events();
    const controller = new AbortController();
    const { signal } = controller;
    const watching = ended(cluster.client.watch(configMaps, { resourceVersion, signal }, events.onEvent));
    await cluster.apiserver.wire.waitForRequests(2);
    cluster.put('one');
    cluster.put('one', { a: '1' });
    cluster.put('other', {}, 'kube-system');
    cluster.apiserver.store.delete({ apiVersion: 'v1', kind: 'ConfigMap', name: 'one' });
    await events.reach(4);
    assert.deepEqual(events.told, ['ADDED one', 'MODIFIED one', 'ADDED other', 'DELETED one']);
    assert.equal(events.versions.at(-1), String(cluster.apiserver.store.revision));
    controller.abort();
    assert.equal(codeOf(await watching), 'ERR_RH_ABORTED');
  });

  test('without a version it begins with what is there, and selectors hold for it', async () => {
    await using cluster = await Cluster.open();
    const controller = new AbortController();
    const { signal } = controller;
    cluster.put('one');
    cluster.apiserver.store.put(configMap('two', {}, 'default', { a: '1' }));
    const events = new Events();
    const options = { namespace: 'default', labelSelector: 'a=1', signal };
    const watching = ended(cluster.client.watch(configMaps, options, events.onEvent));
    await events.reach(1);
    cluster.apiserver.store.put(configMap('two', {}, 'default', {}));
    await events.reach(2);
    assert.deepEqual(events.told, ['ADDED two', 'DELETED two']);
    controller.abort();
    await watching;
  });

  test('it ends well when its time is over, with a bookmark from which another one may begin', async () => {
    const clock = new ManualClock();
    await using cluster = await Cluster.open({ clock });
    const events = new Events();
    cluster.put('one');
    const options = { timeoutMs: 60_000 };
    const watching = ended(cluster.client.watch(configMaps, options, events.onEvent));
    await events.reach(1);
    assert.equal(cluster.queries('/api/v1/configmaps')[0]?.get('timeoutSeconds'), '60');
    clock.advance(60_000);
    assert.equal(await watching, 'well');
    assert.equal(events.told.at(-1), 'BOOKMARK');
    assert.equal(events.versions.at(-1), String(cluster.apiserver.store.revision));
  });

  test('from a version that is forgotten it ends with 410', async () => {
    await using cluster = await Cluster.open();
    cluster.put('one');
    cluster.put('two');
    cluster.apiserver.store.compact();
    const error = await ended(cluster.client.watch(configMaps, { resourceVersion: '1' }, () => undefined));
    assert.ok(isApiStatus(error, 410) && error.reason === 'Expired', String(error));
  });

  test('a token that is refused is renewed, and the watch asked for once more', async () => {
    const credential = new TokenSource('old');
    credential.next = 'good';
    const tokens = { good: { username: 'admin', groups: ['system:masters'] } };
    await using cluster = await Cluster.open({
      who: 'nobody',
      authentication: { tokens, anonymous: false },
      access: { credential },
    });
    const controller = new AbortController();
    const { signal } = controller;
    const events = new Events();
    cluster.put('one');
    const watching = ended(cluster.client.watch(configMaps, { signal }, events.onEvent));
    await events.reach(1);
    controller.abort();
    await watching;
    assert.equal(cluster.apiserver.received, 2);
    cluster.apiserver.faults.add({ match: () => true, fault: { kind: 'status', code: 401 } });
    assert.ok(isApiStatus(await ended(cluster.client.watch(configMaps, {}, events.onEvent)), 401));
  });
});

suite('byte by byte', () => {
  const added = (name: string): string => `${JSON.stringify({ type: 'ADDED', object: configMap(name) })}\n`;

  /** A watch of a server that does this with it. */
  async function watched(
    handle: (exchange: Exchange) => Promise<void>,
    options: WatchOptions = {},
    onEvent: (event: WatchEvent) => void = () => undefined,
  ): Promise<unknown> {
    await using server = await RecordingServer.listen({ handle });
    await using pool = new TransportPool();
    const identity = pool.identity('raw', Endpoint.from({ url: server.url }));
    return await ended(new KubeClient({ sender: identity }).watch(configMaps, options, onEvent));
  }

  const sends =
    (...chunks: readonly (string | Uint8Array)[]) =>
    async (exchange: Exchange): Promise<void> => {
      await exchange.writeHead(200);
      for (const chunk of chunks) await exchange.write(chunk);
      await exchange.end();
    };

  test('events come whole however they are cut, in the middle of a character too', async () => {
    const bytes = Buffer.from(added('é') + added('ü') + added('z'));
    const pieces = [...bytes].map((byte) => Buffer.from([byte]));
    const events = new Events();
    assert.equal(await watched(sends(...pieces), {}, events.onEvent), 'well');
    assert.deepEqual(events.told, ['ADDED é', 'ADDED ü', 'ADDED z']);
  });

  test('a last event without the end of its line counts, half of one does not', async () => {
    const events = new Events();
    assert.equal(await watched(sends(added('a'), added('b').trim()), {}, events.onEvent), 'well');
    assert.deepEqual(events.told, ['ADDED a', 'ADDED b']);
    const half = await watched(sends(added('a'), added('b').slice(0, 20)));
    assert.equal(codeOf(half), 'ERR_RH_WATCH_INVALID');
  });

  test('what is no event ends it, and is not quoted', async () => {
    const lines = [
      'secret',
      '{}',
      '{"type":1}',
      '{"type":"NEWS","object":{}}',
      '{"type":"ADDED","object":"secret"}',
    ];
    for (const line of [...lines, '{"type":"BOOKMARK","object":{"metadata":{}}}']) {
      const error = await watched(sends(`${line}\n`, added('later')));
      assert.equal(codeOf(error), 'ERR_RH_WATCH_INVALID', line);
      assert.ok(!String(error).includes('secret'));
    }
  });

  test('an event beyond the bound ends it before it is kept', async () => {
    const error = await watched(sends('x'.repeat(2_000), 'x'.repeat(100_000)), { maxEventBytes: 1_000 });
    assert.equal(codeOf(error), 'ERR_RH_WATCH_INVALID');
    assert.match(String(error), /larger than 1000 bytes/);
  });

  test('what a handler throws ends it, and is what it fails with', async () => {
    const thrown = new Error('from the handler');
    const error = await watched(sends(added('a'), added('b')), {}, () => {
      throw thrown;
    });
    assert.equal(error, thrown);
  });

  test('a failure in place of events is told with its status, whatever its size', async () => {
    const body = `${' '.repeat(1_000_000)}{}`;
    const error = await watched(async (exchange) =>
      exchange.respond({ status: 503, headers: { 'retry-after': '3' }, body }),
    );
    assert.ok(isApiStatus(error, 503) && error.retryAfterMs === 3_000);
  });

  test('an ERROR event is told with the status that it has', async () => {
    const status = { kind: 'Status', code: 504, reason: 'Timeout', message: 'Too large resource version' };
    const error = await watched(sends(`${JSON.stringify({ type: 'ERROR', object: status })}\n`));
    assert.ok(isApiStatus(error, 504) && error.reason === 'Timeout');
  });
});

suite('time', () => {
  interface Timed {
    readonly clock: ManualClock;
    readonly server: RecordingServer;
    readonly relay: Relay;
    readonly events: Events;
  }

  /** A watch of a server behind a relay, all by one clock. */
  async function timed(
    handle: (exchange: Exchange) => Promise<void>,
    options: WatchOptions,
    act: (rig: Timed) => Promise<void>,
  ): Promise<unknown> {
    await using _baseline = ResourceBaseline.take();
    const clock = new ManualClock();
    await using server = await RecordingServer.listen({ handle });
    await using relay = await Relay.listen({ target: server });
    await using pool = new TransportPool({ clock });
    const identity = pool.identity('raw', Endpoint.from({ url: `http://127.0.0.1:${relay.port}` }));
    const client = new KubeClient({ sender: identity, clock });
    const events = new Events();
    const watching = ended(client.watch(configMaps, options, events.onEvent));
    await act({ clock, server, relay, events });
    const end = await watching;
    await pool.close();
    assert.equal(clock.pending, 0);
    return end;
  }

  const event = `${JSON.stringify({ type: 'ADDED', object: configMap('one') })}\n`;

  test('a watch that is not answered ends after half a minute', async () => {
    const end = await timed(
      async () => undefined,
      {},
      async ({ clock, server }) => {
        await server.waitForRequests(1);
        clock.advance(30_000);
      },
    );
    assert.equal(codeOf(end), 'ERR_RH_REQUEST_TIMEOUT');
  });

  test('a failure that never ends is no answer either', async () => {
    const end = await timed(
      async (exchange) => {
        await exchange.writeHead(500);
        await exchange.write('{');
      },
      {},
      async ({ clock, server }) => {
        await server.waitForRequests(1);
        clock.advance(30_000);
      },
    );
    assert.equal(codeOf(end), 'ERR_RH_REQUEST_TIMEOUT');
  });

  test('one that is silent for too long ends, and one that gets a byte now and then does not', async () => {
    let watched: Exchange | undefined;
    const end = await timed(
      async (exchange) => {
        watched = exchange;
        await exchange.writeHead(200);
        await exchange.write(event);
      },
      { silenceTimeoutMs: 10_000, timeoutMs: 3_600_000 },
      async ({ clock, events }) => {
        for (let count = 1; count <= 5; count += 1) {
          await events.reach(count);
          clock.advance(6_000);
          await watched?.write(event);
        }
        await events.reach(6);
        clock.advance(10_000);
      },
    );
    assert.equal(codeOf(end), 'ERR_RH_STREAM_SILENT');
  });

  test('BB-53: one whose connection freezes ends at most 10 s after the time that it was asked for', async () => {
    const end = await timed(
      async (exchange) => {
        await exchange.writeHead(200);
        await exchange.write(event);
      },
      { timeoutMs: 60_000 },
      async ({ clock, relay, events }) => {
        await events.reach(1);
        relay.freeze();
        clock.advance(70_000);
      },
    );
    assert.equal(codeOf(end), 'ERR_RH_STREAM_SILENT');
  });
});
