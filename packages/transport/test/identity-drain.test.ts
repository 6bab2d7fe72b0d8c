/** What a rotation leaves behind: who is cut when, and that nobody who asks anew waits for it. */

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool, directDialer } from '@roundhouse/transport';
import type { Dialer, Identity, SwitchedAnswer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const variant = (url: string, id: string, dialer: Omit<Dialer, 'id'> = directDialer) =>
  Endpoint.from({ url, alpn: 'h2', dialer: { ...dialer, id } });

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

/** Begins a watch and does not end it, agrees to an upgrade, answers all else. */
const listen = (protocol: 'h2' | 'http/1.1' = 'h2') =>
  RecordingServer.listen({
    protocols: [protocol],
    upgrades: true,
    handle: async (exchange) => {
      if (exchange.upgrade !== undefined) {
        exchange.upgrade.switchProtocols(switching)?.on('error', () => undefined);
      } else if (exchange.request.path === '/watch') {
        await exchange.writeHead(200);
      } else {
        await exchange.respond({ body: 'ok' });
      }
    },
  });

async function watch(identity: Identity, count: number): Promise<Call[]> {
  const calls = Array.from({ length: count }, () => Call.start(identity, { path: '/watch', kind: 'stream' }));
  await Promise.all(calls.map((call) => call.head));
  return calls;
}

const cut = (calls: readonly Call[]): number => calls.filter(({ settled }) => settled).length;

describe('W5: the cuts of a rotation', () => {
  test('are spread over the last part of the limit, so that not all come back at once', async () => {
    const clock = new ManualClock();
    await using server = await listen();
    await using pool = new TransportPool({
      profile: 'proxy',
      clock,
      random: () => 0.5,
      limits: { drainTimeoutMs: 60_000, drainSpreadMs: 10_000 },
    });
    const identity = pool.identity('cluster', variant(server.url, 'old'));
    const watches = await watch(identity, 200);
    identity.rotate(variant(server.url, 'new'));
    clock.advance(50_000);
    assert.equal(cut(watches), 0);
    const inEachSecond: number[] = [];
    for (let second = 0; second < 10; second += 1) {
      const former = cut(watches);
      clock.advance(1_000);
      inEachSecond.push(cut(watches) - former);
    }
    assert.ok(
      inEachSecond.every((count) => count >= 15 && count <= 25),
      `${inEachSecond.join(', ')} in each second`,
    );
    assert.deepEqual([...new Set(watches.map(({ code }) => code))], ['ERR_RH_DRAINED']);
  });

  test('come at another moment for each identity, and never after the limit', async () => {
    const clock = new ManualClock();
    await using server = await listen();
    let drawn = 0;
    await using pool = new TransportPool({
      profile: 'proxy',
      clock,
      random: () => (drawn += 0.1),
      limits: { drainTimeoutMs: 60_000, drainSpreadMs: 10_000 },
    });
    const identities = Array.from({ length: 9 }, (_, index) =>
      pool.identity(`cluster ${index}`, variant(server.url, `old ${index}`)),
    );
    const watches = (await Promise.all(identities.map((identity) => watch(identity, 1)))).flat();
    for (const identity of identities) identity.rotate(variant(server.url, 'new'));
    clock.advance(50_000);
    for (let index = 0; index < 9; index += 1) {
      assert.equal(cut(watches), index);
      clock.advance(1_000);
    }
    assert.equal(cut(watches), 9);
  });

  test('keep to the limit of their own rotation, also when another one follows', async () => {
    const clock = new ManualClock();
    await using server = await listen();
    await using pool = new TransportPool({ clock, limits: { drainTimeoutMs: 10_000 } });
    const identity = pool.identity('cluster', variant(server.url, 'first'));
    const [first] = await watch(identity, 1);
    identity.rotate(variant(server.url, 'second'));
    clock.advance(6_000);
    const [second] = await watch(identity, 1);
    identity.rotate(variant(server.url, 'third'));
    await turns();
    assert.deepEqual(
      pool
        .inspect()
        .transports.map(({ state, generations }) => `${state} ${generations.join()}`)
        .toSorted(),
      ['draining 1', 'draining 2'],
    );
    clock.advance(4_000);
    assert.deepEqual([first?.code, second?.code], ['ERR_RH_DRAINED', undefined]);
    clock.advance(6_000);
    assert.equal(second?.code, 'ERR_RH_DRAINED');
  });
});

describe('upgraded connections after a rotation', () => {
  const upgraded = async (identity: Identity): Promise<SwitchedAnswer> => {
    const answer = await identity.upgrade({ method: 'POST', path: '/', protocol: 'SPDY/3.1', headers: [] });
    assert.ok(answer.switched);
    answer.socket.on('error', () => undefined);
    return answer;
  };

  test('go on until a deadline of their own, or are closed at once, as each identity has it', async () => {
    const clock = new ManualClock();
    await using server = await listen('http/1.1');
    await using pool = new TransportPool({ clock, limits: { upgradeDrainTimeoutMs: 60_000 } });
    const endpoint = (id: string) => Endpoint.from({ url: server.url, dialer: { ...directDialer, id } });
    const [patient, hasty, third] = [
      pool.identity('patient', endpoint('old')),
      pool.identity('hasty', endpoint('old'), { upgradePolicy: 'close' }),
      pool.identity('third', endpoint('old'), { upgradeDrainTimeoutMs: 1_000 }),
    ];
    const sessions = await Promise.all([patient, hasty, third].map(upgraded));
    const [patientSession, hastySession, thirdSession] = sessions.map(({ socket }) => socket);
    for (const identity of [patient, hasty, third]) identity.rotate(endpoint('new'));
    clock.advance(0);
    await until(() => hastySession!.destroyed, 'closed at once');
    assert.equal(String(hastySession!.errored).includes('ERR_RH_DRAINED'), true);
    assert.ok(!patientSession!.destroyed && !thirdSession!.destroyed);
    clock.advance(1_000);
    assert.ok(thirdSession!.destroyed && !patientSession!.destroyed);
    clock.advance(59_000);
    assert.ok(patientSession!.destroyed);
    await until(() => pool.inspect().totals.draining === 0, 'nothing drains');
  });

  test('are none of those that still wait for the endpoint of the new generation', async () => {
    const clock = new ManualClock();
    await using server = await listen('http/1.1');
    await using pool = new TransportPool({ clock });
    const endpoint = (id: string) => Endpoint.from({ url: server.url, dialer: { ...directDialer, id } });
    const identity = pool.identity('hasty', endpoint('old'), { upgradePolicy: 'close' });
    const found = Promise.withResolvers<Endpoint>();
    identity.rotate(() => found.promise);
    const asked = upgraded(identity);
    found.resolve(endpoint('new'));
    await turns();
    clock.advance(0);
    const { socket } = await asked;
    assert.ok(!socket.destroyed);
    assert.equal(identity.generation, 2);
    await pool.destroy();
  });

  test('are those that were asked for right before it, too', async () => {
    const clock = new ManualClock();
    await using server = await listen('http/1.1');
    await using pool = new TransportPool({ clock });
    const endpoint = (id: string) => Endpoint.from({ url: server.url, dialer: { ...directDialer, id } });
    const identity = pool.identity('hasty', endpoint('old'), { upgradePolicy: 'close' });
    const asked = upgraded(identity);
    identity.rotate(endpoint('new'));
    clock.advance(0);
    await assert.rejects(asked, /ERR_RH_DRAINED/);
  });
});

describe('BB-15: a request that must be sent once more after a rotation', () => {
  test('goes where new ones go, and not over a new connection of the former generation', async () => {
    const held = Promise.withResolvers<void>();
    const rotated = Promise.withResolvers<void>();
    await using old = await RecordingServer.listen({
      handle: async (exchange) => {
        if (exchange.request.path === '/held') {
          held.resolve();
          await rotated.promise;
          exchange.connection.reset();
        } else {
          await exchange.respond({ body: 'old' });
        }
      },
    });
    await using next = await RecordingServer.listen({
      handle: (exchange) => exchange.respond({ body: 'new' }),
    });
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', Endpoint.from({ url: old.url }));
    // So that the next one goes over a connection that is kept.
    assert.equal(await Call.text(identity), 'old');
    const call = Call.start(identity, { path: '/held' });
    await held.promise;
    identity.rotate(Endpoint.from({ url: next.url }));
    rotated.resolve();
    await call.ended;
    assert.equal(call.body, 'new');
    assert.deepEqual([old.accepted, old.requests.length, next.requests.length], [1, 2, 1]);
    await until(() => pool.inspect().totals.draining === 0, 'nothing drains');
  });
});

describe('W6: nobody who asks anew', () => {
  test('waits for connections of the old that do not close', async () => {
    await using server = await listen();
    const stuck: StuckDuplex[] = [];
    const never: Omit<Dialer, 'id'> = {
      dial: async (target) => {
        const duplex = new StuckDuplex(target.port);
        stuck.push(duplex);
        return duplex;
      },
    };
    const pool = new TransportPool();
    const identity = pool.identity('cluster', variant(server.url, 'old', never));
    for (let round = 0; round < 5; round += 1) await Call.text(identity);
    identity.rotate(variant(server.url, 'new'));
    const startedAt = performance.now();
    assert.equal(await Call.text(identity), 'ok');
    assert.ok(performance.now() - startedAt < 2_000);
    assert.ok(stuck.length > 0 && stuck.every(({ isClosed }) => !isClosed));
    assert.equal(pool.inspect().totals.draining, 1);
    for (const duplex of stuck) duplex.release();
    await pool.destroy();
  });

  test('is sent over a connection that was being dialed as the old', async () => {
    await using server = await listen('http/1.1');
    const dialing = Promise.withResolvers<void>();
    const slow: Omit<Dialer, 'id'> = {
      dial: async (target, options) => {
        await dialing.promise;
        return directDialer.dial(target, options);
      },
    };
    await using pool = new TransportPool();
    const endpoint = (id: string, dialer: Omit<Dialer, 'id'>) =>
      Endpoint.from({ url: server.url, dialer: { ...dialer, id } });
    const identity = pool.identity('cluster', endpoint('old', slow));
    const call = Call.start(identity);
    await turns();
    identity.rotate(endpoint('new', directDialer));
    await call.ended;
    assert.equal(call.body, 'ok');
    dialing.resolve();
    await turns(20);
    await Call.text(identity);
    assert.equal(server.requests.length, 2);
    assert.equal(server.connections.filter(({ open }) => open).length, 1);
  });
});

/** Passes everything on, and takes for ever to close. */
class StuckDuplex extends Duplex {
  readonly #inner;
  #release: (() => void) | undefined;
  isClosed = false;

  constructor(port: number) {
    super({ autoDestroy: false });
    this.#inner = connect(port, '127.0.0.1');
    this.#inner.on('data', (chunk: Buffer) => this.push(chunk));
    this.#inner.on('error', () => undefined);
    this.once('close', () => (this.isClosed = true));
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#inner.write(chunk, () => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#release = () => {
      this.#inner.destroy();
      done(error);
    };
  }

  override _final(): void {}

  release(): void {
    this.destroy();
    this.#release?.();
  }
}
