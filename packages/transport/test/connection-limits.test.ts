/** How many connections and requests an endpoint may have at a time, and the answer at each limit. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { Exchange, HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import type { AlpnPolicy, Limits } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

/** Answers when the test says so. */
class Gate {
  readonly held: Exchange[] = [];
  readonly handle = (exchange: Exchange): void => void this.held.push(exchange);

  async openAll(): Promise<void> {
    for (const exchange of this.held.splice(0)) {
      await exchange.respond({ body: 'ok' });
    }
  }
}

const leaseOf = (pool: TransportPool, url: string, alpn: AlpnPolicy = 'http/1.1') =>
  pool.lease(Endpoint.from({ url, alpn }));

describe('connections per host', () => {
  test('G4: of 1,000 concurrent requests no more are open at a time than may be, and all are answered', async () => {
    await using server = await RecordingServer.listen();
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 7, maxWaitingPerHost: 1_000 } });
    using lease = leaseOf(pool, server.url);
    const bodies = await Promise.all(Array.from({ length: 1_000 }, () => Call.text(lease)));
    assert.deepEqual([...new Set(bodies)], ['ok']);
    assert.ok(server.accepted <= 7, `${server.accepted} connections`);
  });

  test('G3, G4: 2,000 sequential requests use one connection', async () => {
    await using server = await RecordingServer.listen();
    await using pool = new TransportPool();
    using lease = leaseOf(pool, server.url);
    for (let index = 0; index < 2_000; index += 1) {
      await Call.text(lease);
    }
    assert.equal(server.accepted, 1);
  });

  test('over HTTP/2 it bounds the sessions', async () => {
    const gate = new Gate();
    await using server = await RecordingServer.listen({
      protocols: ['h2'],
      maxConcurrentStreams: 10,
      handle: gate.handle,
    });
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 2 } });
    using lease = leaseOf(pool, server.url, 'h2');
    const calls = Array.from({ length: 50 }, () => Call.start(lease));
    let seen = 0;
    while (seen < calls.length) {
      await server.waitForRequests(Math.min(seen + 20, calls.length));
      seen = server.requests.length;
      await gate.openAll();
    }
    await Promise.all(calls.map((call) => call.ended));
    assert.deepEqual([...new Set(calls.map((call) => call.code))], [undefined]);
    assert.ok(server.accepted <= 2, `${server.accepted} sessions`);
  });
});

describe('those who wait', () => {
  const atOne: Partial<Limits> = { maxConnectionsPerHost: 1, maxWaitingPerHost: 2, maxWaitMs: 5_000 };

  test('one more than may wait is refused at once with ERR_RH_QUEUE_FULL, the others are served in their order', async () => {
    const gate = new Gate();
    await using server = await RecordingServer.listen({ handle: gate.handle });
    await using pool = new TransportPool({ limits: atOne });
    using lease = leaseOf(pool, server.url);
    const first = Call.start(lease, { path: '/1' });
    await server.waitForRequests(1);
    const waiting = ['/2', '/3'].map((path) => Call.start(lease, { path }));
    const refused = Call.start(lease, { path: '/4' });
    assert.equal(refused.code, 'ERR_RH_QUEUE_FULL');
    for (const count of [1, 2, 3]) {
      await server.waitForRequests(count);
      await gate.openAll();
    }
    await Promise.all([first, ...waiting].map((call) => call.ended));
    assert.deepEqual(
      server.requests.map((request) => request.path),
      ['/1', '/2', '/3'],
    );
  });

  test('whoever waited for as long as may be waited gets ERR_RH_QUEUE_TIMEOUT, not a moment before', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    await using server = await RecordingServer.listen({ handle: gate.handle });
    await using pool = new TransportPool({ clock, limits: atOne });
    using lease = leaseOf(pool, server.url);
    const first = Call.start(lease);
    await server.waitForRequests(1);
    const second = Call.start(lease);
    clock.advance(4_999);
    assert.ok(!second.settled);
    clock.advance(1);
    assert.equal(second.code, 'ERR_RH_QUEUE_TIMEOUT');
    await gate.openAll();
    await first.ended;
    assert.equal(first.code, undefined);
  });

  test('a place that is given up is free at once', async () => {
    const gate = new Gate();
    await using server = await RecordingServer.listen({ handle: gate.handle });
    await using pool = new TransportPool({ limits: atOne });
    using lease = leaseOf(pool, server.url);
    Call.start(lease);
    await server.waitForRequests(1);
    const waiting = [1, 2].map(() => Call.start(lease));
    waiting[0]?.controller.abort(new Error('changed my mind'));
    const next = Call.start(lease);
    assert.equal(pool.inspect().transports[0]?.waiting, 2);
    assert.ok(!next.settled);
    await pool.destroy();
  });
});

describe('time limits', () => {
  test('a dial ends at the dial limit with ERR_RH_DIAL_TIMEOUT for all who waited for it, and its socket is closed', async () => {
    const clock = new ManualClock();
    const signals: AbortSignal[] = [];
    const dialer = {
      id: 'black hole',
      dial: (_target: unknown, { signal }: { signal: AbortSignal }): Promise<never> => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
    };
    await using pool = new TransportPool({
      clock,
      limits: { dialTimeoutMs: 10_000, requestTimeoutMs: 60_000 },
    });
    using lease = pool.lease(Endpoint.from({ url: 'http://black.hole', dialer }));
    const calls = [1, 2, 3].map(() => Call.start(lease));
    await turns();
    clock.advance(9_999);
    await turns();
    assert.ok(calls.every((call) => !call.settled));
    clock.advance(1);
    await Promise.all(calls.map((call) => call.ended));
    assert.deepEqual(
      calls.map((call) => call.code),
      Array(3).fill('ERR_RH_DIAL_TIMEOUT'),
    );
    assert.ok(signals.length > 0 && signals.every((signal) => signal.aborted));
  });

  for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
    for (const silentFrom of ['the head', 'the body'] as const) {
      test(`${protocol}: a short request ends at its limit when the server is silent from ${silentFrom} on`, async () => {
        const clock = new ManualClock();
        await using server = await RecordingServer.listen({
          protocols: [protocol],
          handle: async (exchange) => {
            if (silentFrom === 'the body') {
              await exchange.writeHead(200);
              await exchange.write('half');
            }
          },
        });
        await using pool = new TransportPool({ clock });
        using lease = leaseOf(pool, server.url, protocol);
        const call = Call.start(lease, { timeoutMs: 15_000 });
        await (silentFrom === 'the body'
          ? until(() => call.body === 'half', 'half')
          : server.waitForRequests(1));
        clock.advance(14_999);
        assert.ok(!call.settled);
        clock.advance(1);
        assert.equal(call.code, 'ERR_RH_REQUEST_TIMEOUT');
      });
    }
  }

  test('the limit of a short request includes its waiting', async () => {
    const clock = new ManualClock();
    await using server = await RecordingServer.listen({ handle: () => undefined });
    await using pool = new TransportPool({ clock, limits: { maxConnectionsPerHost: 1, maxWaitMs: 60_000 } });
    using lease = leaseOf(pool, server.url);
    Call.start(lease, { timeoutMs: 0 });
    const waiting = Call.start(lease, { timeoutMs: 3_000 });
    clock.advance(3_000);
    assert.equal(waiting.code, 'ERR_RH_REQUEST_TIMEOUT');
    await pool.destroy();
  });

  test('a limit of 0 is none', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    await using server = await RecordingServer.listen({ handle: gate.handle });
    await using pool = new TransportPool({ clock });
    using lease = leaseOf(pool, server.url);
    const call = Call.start(lease, { timeoutMs: 0 });
    await server.waitForRequests(1);
    clock.advance(86_400_000);
    await gate.openAll();
    await call.ended;
    assert.equal(call.code, undefined);
  });
});

describe('the limits themselves', () => {
  for (const limits of [
    { maxIdle: -1 },
    { maxConnectionsPerHost: 0 },
    { maxTransports: 1.5 },
    { idleTimeoutMs: Number.POSITIVE_INFINITY },
    { requestTimeoutMs: Number.NaN },
    { maxIdel: 3 },
  ]) {
    test(`${JSON.stringify(limits)} is refused with ERR_RH_LIMITS_INVALID`, () => {
      assert.throws(() => new TransportPool({ limits }), { code: 'ERR_RH_LIMITS_INVALID' });
    });
  }
});
