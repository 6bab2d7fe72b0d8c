/** What is down is not dialed by everybody who asks, is dialed again in time, and takes nothing else down with it. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, RoundhouseError, TransportPool } from '@roundhouse/transport';
import type { Dialer, Limits } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

/** A way that a test closes and opens. */
class Way {
  dials = 0;
  open = false;
  /** What dials wait for; they look at `open` when it is over. */
  pending: Promise<void> = Promise.resolve();
  readonly #server: RecordingServer;

  constructor(server: RecordingServer) {
    this.#server = server;
  }

  readonly dialer: Dialer = {
    id: 'way',
    dial: async (_target, { signal }) => {
      this.dials += 1;
      const ended = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => ended.reject(signal.reason));
      await Promise.race([this.pending, ended.promise]);
      if (!this.open) {
        throw new Error('connection refused');
      }
      const { promise, resolve, reject } = Promise.withResolvers<Socket>();
      const socket = connect(this.#server.port, '127.0.0.1', () => resolve(socket)).once('error', reject);
      return promise;
    },
  };

  /** A dial waits until it is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.pending = promise;
    return resolve;
  }
}

interface SetUpOptions {
  readonly held?: boolean;
  readonly protocol?: HttpProtocol;
}

async function setUp(limits: Partial<Limits> = {}, { held, protocol = 'http/1.1' }: SetUpOptions = {}) {
  const release = Promise.withResolvers<void>();
  const server = await RecordingServer.listen({
    upgrades: true,
    protocols: [protocol],
    handle: async (exchange) => {
      if (held === true && exchange.request.path === '/held') {
        await release.promise;
      }
      await exchange.respond({ body: 'ok' });
    },
  });
  const clock = new ManualClock();
  const pool = new TransportPool({ clock, limits: { maxConnectionsPerHost: 2, ...limits }, random: () => 1 });
  const way = new Way(server);
  const endpoint = (path = ''): Endpoint =>
    Endpoint.from({ url: `http://down${path}.test`, dialer: way.dialer, alpn: protocol });
  const identity = pool.identity('cluster', endpoint());
  const fail = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      assert.equal(await Call.code(identity), 'ERR_RH_DIAL_FAILED');
    }
  };
  return {
    pool,
    server,
    clock,
    way,
    identity,
    endpoint,
    fail,
    release: () => release.resolve(),
    snapshot: () => pool.inspect().transports.find(({ identities }) => identities.includes('cluster')),
    async [Symbol.asyncDispose]() {
      release.resolve();
      await pool.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

suite('W16: an endpoint that is down', () => {
  test('is left alone after five failed dials; who asks meanwhile is told at once what failed and when to come back', async () => {
    await using rig = await setUp();
    await rig.fail(5);
    assert.equal(rig.snapshot()?.breaker, 'open');
    rig.clock.advance(400);
    const call = Call.start(rig.identity);
    await call.ended;
    assert.ok(RoundhouseError.is(call.error));
    const { code, data, retry, httpStatus, message, cause } = call.error;
    assert.deepEqual(
      { code, data, retry, httpStatus },
      { code: 'ERR_RH_ENDPOINT_DOWN', data: { retryAfterMs: 600 }, retry: 'after', httpStatus: 503 },
    );
    assert.match(
      message,
      /http:\/\/down\.test is not dialed for another 600 ms.*5 attempts.*ERR_RH_DIAL_FAILED/,
    );
    assert.ok(RoundhouseError.is(cause) && cause.code === 'ERR_RH_DIAL_FAILED');
    assert.equal(rig.way.dials, 5);
    const { breakersOpened, refusedWhileDown } = rig.pool.inspect().totals;
    assert.deepEqual({ breakersOpened, refusedWhileDown }, { breakersOpened: 1, refusedWhileDown: 1 });
  });

  test('is dialed once after each rest, and rests twice as long each time, up to the longest', async () => {
    await using rig = await setUp();
    await rig.fail(5);
    for (const restMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const { dials } = rig.way;
      rig.clock.advance(restMs - 1);
      assert.equal(await Call.code(rig.identity), 'ERR_RH_ENDPOINT_DOWN');
      assert.equal(rig.way.dials, dials);
      rig.clock.advance(1);
      assert.equal(await Call.code(rig.identity), 'ERR_RH_DIAL_FAILED');
      assert.equal(rig.way.dials, dials + 1);
    }
    rig.clock.advance(30_000);
    rig.way.open = true;
    assert.equal(await Call.text(rig.identity), 'ok');
    assert.equal(rig.snapshot()?.breaker, 'closed');
    assert.equal(rig.pool.inspect().totals.breakersOpened, 1);
  });

  test('rests as long as it is told to', async () => {
    await using rig = await setUp({ breakerThreshold: 2, breakerRestMs: 10, breakerMaxRestMs: 30 });
    await rig.fail(2);
    for (const restMs of [10, 20, 30, 30]) {
      rig.clock.advance(restMs - 1);
      assert.equal(await Call.code(rig.identity), 'ERR_RH_ENDPOINT_DOWN');
      rig.clock.advance(1);
      await rig.fail(1);
    }
  });

  test('is asked by one only when the rest is over: others are refused until that one knows', async () => {
    await using rig = await setUp();
    await rig.fail(5);
    rig.clock.advance(1_000);
    rig.way.open = true;
    const finish = rig.way.hold();
    const first = Call.start(rig.identity);
    await turns();
    assert.equal(rig.snapshot()?.breaker, 'probing');
    const others = await Promise.all(Array.from({ length: 20 }, () => Call.code(rig.identity)));
    assert.deepEqual([...new Set(others)], ['ERR_RH_ENDPOINT_DOWN']);
    assert.equal(rig.way.dials, 6);
    finish();
    await first.ended;
    assert.equal(first.body, 'ok');
    assert.equal(await Call.text(rig.identity), 'ok');
  });

  test('has failed once, not fifty times, when fifty dials that were under way together fail', async () => {
    await using rig = await setUp({ maxConnectionsPerHost: 50 });
    for (let round = 1; round <= 5; round += 1) {
      const fail = rig.way.hold();
      const codes = Array.from({ length: 50 }, () => Call.code(rig.identity));
      await until(() => rig.way.dials === round * 50, 'all are dialed');
      fail();
      assert.deepEqual([...new Set(await Promise.all(codes))], ['ERR_RH_DIAL_FAILED']);
      assert.equal(rig.snapshot()?.breaker, round < 5 ? 'closed' : 'open');
    }
  });

  test('is up again with the first dial that succeeds: what failed before counts no more', async () => {
    await using rig = await setUp({ idleTimeoutMs: 1 });
    for (let round = 0; round < 5; round += 1) {
      await rig.fail(4);
      rig.way.open = true;
      assert.equal(await Call.text(rig.identity), 'ok');
      await until(() => rig.snapshot()?.connections.idle === 1, 'idle');
      rig.clock.advance(1);
      await until(() => rig.snapshot()?.connections.idle === 0, 'closed');
      rig.way.open = false;
    }
    assert.equal(rig.pool.inspect().totals.breakersOpened, 0);
  });

  test('is not what a caller says of it who gives up: cancelled dials count nothing, and the next one asks', async () => {
    await using rig = await setUp();
    rig.way.hold();
    for (let round = 0; round < 10; round += 1) {
      const call = Call.start(rig.identity);
      await turns();
      call.controller.abort(new Error('gone'));
      await call.ended;
    }
    assert.equal(rig.snapshot()?.breaker, 'closed');
    rig.way.pending = Promise.resolve();
    await rig.fail(5);
    rig.clock.advance(1_000);
    rig.way.hold();
    const probe = Call.start(rig.identity);
    await turns();
    probe.controller.abort(new Error('gone'));
    await probe.ended;
    await until(() => rig.snapshot()?.breaker === 'open', 'nobody asks');
    rig.way.pending = Promise.resolve();
    rig.way.open = true;
    assert.equal(await Call.text(rig.identity), 'ok');
  });

  test('counts failed upgrades as well, and refuses them in the same way', async () => {
    await using rig = await setUp();
    const upgrade = () =>
      rig.identity.upgrade({ method: 'GET', path: '/', protocol: 'SPDY/3.1', headers: [] });
    for (let time = 0; time < 5; time += 1) {
      await assert.rejects(upgrade(), { code: 'ERR_RH_DIAL_FAILED' });
    }
    await assert.rejects(upgrade(), { code: 'ERR_RH_ENDPOINT_DOWN', data: { retryAfterMs: 1_000 } });
    assert.equal(await Call.code(rig.identity), 'ERR_RH_ENDPOINT_DOWN');
    assert.equal(rig.way.dials, 5);
  });

  test('begins anew with a rotation: another endpoint has failed at nothing yet', async () => {
    await using rig = await setUp();
    await rig.fail(5);
    rig.way.open = true;
    rig.identity.rotate(rig.endpoint('-no-more'));
    assert.equal(await Call.text(rig.identity), 'ok');
  });

  test('touches no other endpoint', async () => {
    await using rig = await setUp();
    await rig.fail(5);
    rig.way.open = true;
    const other = rig.pool.identity('other', rig.endpoint('-not'));
    assert.equal(await Call.text(other), 'ok');
    assert.equal(await Call.code(rig.identity), 'ERR_RH_ENDPOINT_DOWN');
  });

  test('is dialed by everybody who asks when the threshold is 0', async () => {
    await using rig = await setUp({ breakerThreshold: 0 });
    await rig.fail(20);
    assert.equal(rig.way.dials, 20);
  });
});

suite('an endpoint that takes no further connection', () => {
  const setUpBusy = async () => {
    const rig = await setUp({}, { held: true });
    rig.way.open = true;
    const held = Call.start(rig.identity, { path: '/held' });
    await until(() => rig.snapshot()?.connections.active === 1, 'one works');
    rig.way.open = false;
    for (let time = 0; time < 5; time += 1) {
      assert.equal(await Call.code(rig.identity), 'ERR_RH_DIAL_FAILED');
    }
    assert.equal(rig.way.dials, 6);
    const waiting = Call.start(rig.identity);
    await turns();
    assert.equal(waiting.settled, false, 'there is something to wait for');
    return { rig, held, waiting };
  };

  test('serves those who wait over the connections that it has, and is not dialed for them', async () => {
    const { rig, held, waiting } = await setUpBusy();
    await using _ = rig;
    rig.release();
    await Promise.all([held.ended, waiting.ended]);
    assert.deepEqual([held.body, waiting.body, rig.way.dials], ['ok', 'ok', 6]);
  });

  test('is dialed for those who wait when the rest is over', async () => {
    const { rig, held, waiting } = await setUpBusy();
    await using _ = rig;
    rig.way.open = true;
    rig.clock.advance(1_000);
    await waiting.ended;
    assert.deepEqual([waiting.body, held.settled, rig.way.dials], ['ok', false, 7]);
  });

  test('and then loses the one that it had, is down: those who wait are told so', async () => {
    const { rig, held, waiting } = await setUpBusy();
    await using _ = rig;
    held.controller.abort(new Error('gone'));
    await waiting.ended;
    assert.equal(waiting.code, 'ERR_RH_ENDPOINT_DOWN');
  });

  test('and takes no request on the one that it has, is down: nobody waits for what only comes to its end', async () => {
    await using rig = await setUp({}, { held: true, protocol: 'h2' });
    rig.way.open = true;
    const held = Call.start(rig.identity, { path: '/held' });
    await rig.server.waitForRequests(1);
    rig.way.open = false;
    rig.server.goaway();
    await until(() => rig.snapshot()?.connections.draining === 1, 'it is told to go');
    await rig.fail(5);
    assert.equal(await Call.code(rig.identity), 'ERR_RH_ENDPOINT_DOWN');
    rig.release();
    await held.ended;
    assert.equal(held.body, 'ok');
  });

  test('leaves no timer once nobody waits', async () => {
    const { rig, waiting } = await setUpBusy();
    await using _ = rig;
    waiting.controller.abort(new Error('gone'));
    await waiting.ended;
    assert.equal(rig.clock.pending, 1, 'that of the request that is under way');
  });
});
