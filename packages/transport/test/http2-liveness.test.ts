/** BB-23: a network that is lost says nothing. A connection of HTTP/2 that is silent is asked, and given up when no answer comes. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer, Relay } from '@roundhouse/simulators';
import type { Exchange, RelayDirection } from '@roundhouse/simulators';
import { Endpoint, TransportPool, directDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { listenFrames } from './rig/frame-server.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const limits = { pingAfterMs: 5_000, pingTimeoutMs: 5_000 };
const watch = { path: '/watch', kind: 'stream' } as const;

/** A server whose first connection leads through a relay that can become a black hole; others reach it as they are. */
class Rig implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly pool = new TransportPool({ clock: this.clock, profile: 'proxy', limits });
  readonly watched: Exchange[] = [];
  readonly server: RecordingServer;
  readonly relay: Relay;
  #dials = 0;

  private constructor(server: RecordingServer, relay: Relay) {
    this.server = server;
    this.relay = relay;
    server.handle = async (exchange) => {
      if (exchange.request.path === '/watch') {
        this.watched.push(exchange);
        await exchange.writeHead(200);
      } else {
        await exchange.respond({ body: 'ok' });
      }
    };
  }

  static async open(): Promise<Rig> {
    const server = await RecordingServer.listen({ protocols: ['h2'] });
    return new Rig(server, await Relay.listen({ target: { port: server.port } }));
  }

  lease() {
    const dialer = {
      id: 'first through the relay',
      dial: (...[target, options]: Parameters<typeof directDialer.dial>) => {
        this.#dials += 1;
        const { port } = this.#dials === 1 ? this.relay : target;
        return directDialer.dial({ ...target, port }, options);
      },
    };
    return this.pool.lease(Endpoint.from({ url: this.server.url, alpn: 'h2', dialer }));
  }

  get unansweredPings(): number {
    return this.pool.inspect().totals.unansweredPings;
  }

  /** Lets seconds pass in such a way that what is on its way in each of them arrives. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advance(1_000);
      await turns(20);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.destroy();
    await this.relay[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

for (const direction of ['both', 'down'] as const satisfies RelayDirection[]) {
  test(`BB-23: frozen (${direction}) under 20 watches: within both bounds these end with an error, and each GET is answered`, async () => {
    await using rig = await Rig.open();
    using lease = rig.lease();
    const watches = Array.from({ length: 20 }, () => Call.start(lease, watch));
    await Promise.all(watches.map((call) => call.head));
    await Call.text(lease);
    rig.relay.freeze(direction);
    const gets: Call[] = [];
    for (let second = 0; second < 9; second += 1) {
      gets.push(Call.start(lease));
      await rig.pass(1);
    }
    assert.ok(watches.every((call) => !call.settled));
    assert.equal(rig.unansweredPings, 0);
    rig.clock.advance(1_000);
    await Promise.all([...watches, ...gets].map((call) => call.ended));
    assert.deepEqual([...new Set(watches.map((call) => call.code))], ['ERR_RH_CONNECTION_LOST']);
    assert.match(watches[0]?.error?.message ?? '', /has not answered a PING for 5000 ms/);
    assert.deepEqual(
      gets.map((call) => call.body),
      gets.map(() => 'ok'),
    );
    assert.equal(rig.unansweredPings, 1);
    await until(() => rig.pool.inspect().transports[0]?.connections.idle === 1, 'the new one is idle');
    assert.deepEqual(rig.pool.inspect().transports[0]?.http2, { connections: 1, requests: 0 });
  });
}

test('BB-23: a POST on a session that turns out to be dead is told, and not sent again', async () => {
  await using rig = await Rig.open();
  using lease = rig.lease();
  await Call.text(lease);
  rig.relay.freeze('down');
  const post = Call.start(lease, { method: 'POST', body: 'x' });
  await rig.pass(9);
  assert.ok(!post.settled);
  rig.clock.advance(1_000);
  await post.ended;
  assert.equal(post.code, 'ERR_RH_CONNECTION_STALE');
  assert.equal(rig.server.requests.filter(({ method }) => method === 'POST').length, 1);
  assert.equal(await Call.text(lease), 'ok');
});

test('BB-23: what is used again after a silence is asked at once, and not after another silence', async () => {
  await using rig = await Rig.open();
  using lease = rig.lease();
  await Call.text(lease);
  rig.relay.freeze();
  // Nothing rides on it meanwhile, so nobody asks.
  await rig.pass(30);
  assert.equal(rig.unansweredPings, 0);
  const get = Call.start(lease);
  rig.clock.advance(4_999);
  await turns(20);
  assert.equal(rig.unansweredPings, 0);
  rig.clock.advance(1);
  await get.ended;
  assert.equal(get.body, 'ok');
  assert.equal(rig.unansweredPings, 1);
});

test('BB-23: a server that is slow and alive is not given up: its answer comes after three seconds', async () => {
  await using rig = await Rig.open();
  using lease = rig.lease();
  const call = Call.start(lease, watch);
  await call.head;
  for (let round = 0; round < 4; round += 1) {
    rig.relay.freeze();
    await rig.pass(8);
    rig.relay.thaw();
    await turns(50);
  }
  assert.equal(rig.unansweredPings, 0);
  await rig.watched[0]?.write('event');
  await until(() => call.body === 'event', 'the event');
});

test('any frame of the server is a sign of life, though it answers no PING', async () => {
  const clock = new ManualClock();
  const peers: (() => void)[] = [];
  await using server = await listenFrames((peer, stream) => {
    peer.head(stream);
    peers.push(() => peer.data(stream, 'x'));
  });
  await using pool = new TransportPool({ clock, limits });
  using lease = pool.lease(Endpoint.from({ url: server.url, alpn: 'h2' }));
  const call = Call.start(lease, watch);
  await call.head;
  for (let round = 1; round <= 6; round += 1) {
    clock.advance(4_000);
    peers[0]?.();
    await until(() => call.bytes === round, 'a byte');
  }
  assert.ok(!call.settled);
  clock.advance(5_000);
  await turns(20);
  clock.advance(5_000);
  await call.ended;
  assert.equal(call.code, 'ERR_RH_CONNECTION_LOST');
});

test('a process that stood still itself asks again before it judges', async () => {
  await using rig = await Rig.open();
  using lease = rig.lease();
  const call = Call.start(lease, watch);
  await call.head;
  // Stopped for an hour just after the question went out: time is over before the answer is read.
  rig.clock.advance(5_000);
  rig.clock.jump(3_600_000);
  await rig.pass(1);
  assert.equal(rig.unansweredPings, 0);
  await rig.watched[0]?.write('event');
  await until(() => call.body === 'event', 'the event');
});

describe('nobody is asked', () => {
  test('while nothing rides on the session, and the timer goes with the last request', async () => {
    await using rig = await Rig.open();
    using lease = rig.lease();
    const call = Call.start(lease, watch);
    await call.head;
    call.controller.abort(new Error('enough'));
    await until(() => rig.pool.inspect().transports[0]?.connections.idle === 1, 'idle');
    // That of the idle time is left.
    assert.equal(rig.clock.pending, 1);
  });

  test('where it is turned off', async () => {
    const clock = new ManualClock();
    await using server = await RecordingServer.listen({
      protocols: ['h2'],
      handle: (exchange) => exchange.writeHead(200),
    });
    await using pool = new TransportPool({ clock, limits: { pingAfterMs: 0 } });
    using lease = pool.lease(Endpoint.from({ url: server.url, alpn: 'h2' }));
    const call = Call.start(lease, watch);
    await call.head;
    clock.advance(86_400_000);
    await turns(20);
    assert.ok(!call.settled);
    await pool.destroy();
  });
});
