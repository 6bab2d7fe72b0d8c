/** Rotation reaches everything of one identity and nothing else: the new connections are there before the old ones go. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CertificateAuthority, ManualClock, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool, directDialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const variant = (url: string, id: string, alpn: HttpProtocol = 'http/1.1') =>
  Endpoint.from({ url, alpn, dialer: { ...directDialer, id } });

/** A watch is held open, all else is answered. */
const listen = (protocol: HttpProtocol = 'http/1.1') =>
  RecordingServer.listen({
    protocols: [protocol],
    handle: async (exchange) => {
      if (exchange.request.path === '/watch') {
        await exchange.writeHead(200);
      } else {
        await exchange.respond({ body: 'ok' });
      }
    },
  });

for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
  describe(`${protocol}: rotation`, () => {
    test('W9: sends new requests to the new endpoint at once, closes idle connections, drains active ones to the limit', async () => {
      const clock = new ManualClock();
      await using pair = await servers(protocol);
      const [old, next] = pair;
      await using pool = new TransportPool({ clock, limits: { drainTimeoutMs: 10_000 } });
      const identity = pool.identity('cluster', variant(old.url, 'old', protocol));
      const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
      await watch.head;
      await Call.text(identity);
      identity.rotate(variant(next.url, 'new', protocol));
      assert.equal(identity.generation, 2);
      await old.waitForOpen(1);
      const calls = Array.from({ length: 5 }, () => Call.text(identity));
      assert.deepEqual([...new Set(await Promise.all(calls))], ['ok']);
      assert.equal(next.requests.length, 5);
      assert.equal(old.requests.length, 2);
      clock.advance(9_999);
      assert.ok(!watch.settled);
      clock.advance(1);
      assert.equal(watch.code, 'ERR_RH_DRAINED');
      await old.waitForOpen(0);
      assert.equal(pool.inspect().totals.rotations, 1);
      await until(() => pool.inspect().transports.length === 1, 'only the new one left');
    });
  });
}

describe('rotation', () => {
  test('does not touch another identity on the same transport', async () => {
    const clock = new ManualClock();
    await using pair = await servers('http/1.1');
    const [old, next] = pair;
    await using pool = new TransportPool({ clock });
    const [rotated, staying] = ['rotated', 'staying'].map((name) =>
      pool.identity(name, variant(old.url, 'old')),
    );
    const watches = [rotated, staying].map((identity) =>
      Call.start(identity!, { path: '/watch', kind: 'stream' }),
    );
    await Promise.all(watches.map((watch) => watch.head));
    await Call.text(staying!);
    const accepted = old.accepted;
    rotated?.rotate(variant(next.url, 'new'));
    clock.advance(60_000);
    assert.deepEqual(
      watches.map((watch) => watch.code),
      ['ERR_RH_DRAINED', undefined],
    );
    await Call.text(staying!);
    assert.ok(old.accepted <= accepted + 1);
    await pool.destroy();
  });

  test('leaves a leased transport in its place', async () => {
    await using pair = await servers('http/1.1');
    const [old, next] = pair;
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', variant(old.url, 'old'));
    using lease = pool.lease(variant(old.url, 'old'));
    await Call.text(identity);
    identity.rotate(variant(next.url, 'new'));
    assert.equal(await Call.text(lease), 'ok');
    assert.equal(old.accepted, 1);
  });

  test('moves what waits for a connection to the new endpoint', async () => {
    await using pair = await servers('http/1.1');
    const [, next] = pair;
    await using pool = new TransportPool();
    const black = { id: 'black hole', dial: () => new Promise<never>(() => undefined) };
    const identity = pool.identity('cluster', Endpoint.from({ url: 'http://old.test', dialer: black }));
    const waiting = [1, 2, 3].map(() => Call.start(identity));
    const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
    await turns();
    identity.rotate(variant(next.url, 'new'));
    await Promise.all(waiting.map((call) => call.ended));
    await watch.head;
    assert.deepEqual([...new Set(waiting.map((call) => call.body))], ['ok']);
    await until(() => pool.inspect().transports.length === 1, 'the old one gone');
    await pool.destroy();
  });

  test('BB-04: equal content is no rotation: the same PEM in another order, with other line ends, comments and object', async () => {
    const authority = await CertificateAuthority.create();
    const foreign = await CertificateAuthority.create({ name: 'foreign' });
    const certificate = await authority.issue({
      commonName: 'api',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    await using server = await RecordingServer.listen({
      tls: certificate,
      handle: async (exchange) => {
        await exchange.writeHead(200);
        if (exchange.request.path !== '/watch') await exchange.end('ok');
      },
    });
    await using pool = new TransportPool();
    const [a, b] = [authority.certificatePem, foreign.certificatePem];
    const endpoint = (ca: string) =>
      Endpoint.from({ url: server.url, material: TlsMaterial.fromPem({ ca }) });
    const identity = pool.identity('cluster', endpoint(a + b));
    const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
    await watch.head;
    await Call.text(identity);
    for (const ca of [a + b, b + a, `${a}\n${b}\n`, `# bundle\r\n${(a + b).replaceAll('\n', '\r\n')}`]) {
      for (let round = 0; round < 25; round += 1) {
        identity.rotate(endpoint(ca));
        identity.rotate(() => Promise.resolve(endpoint(ca)));
        await Call.text(identity);
      }
    }
    const { totals } = pool.inspect();
    assert.deepEqual([totals.built, totals.rotations, identity.generation], [1, 0, 1]);
    assert.equal(server.accepted, 2);
    assert.ok(!watch.settled);
    await pool.destroy();
  });
});

describe('an endpoint that has to be found', () => {
  test('G8: is asked for when it is needed, once for all who wait', async () => {
    let asked = 0;
    await using server = await listen();
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', async () => {
      asked += 1;
      await turns();
      return variant(server.url, 'found');
    });
    assert.equal(asked, 0);
    await Promise.all(Array.from({ length: 20 }, () => Call.text(identity)));
    assert.equal(asked, 1);
    await Call.text(identity);
    assert.equal(asked, 1);
  });

  test('G8: is asked for again after a failure, which those who waited get with its cause', async () => {
    let asked = 0;
    await using server = await listen();
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', async () => {
      asked += 1;
      await turns();
      if (asked === 1) {
        throw new Error('no kubeconfig yet');
      }
      return variant(server.url, 'found');
    });
    const calls = [1, 2, 3].map(() => Call.start(identity));
    await Promise.all(calls.map((call) => call.ended));
    for (const call of calls) {
      assert.deepEqual(call.events, ['start', 'error']);
      assert.equal(call.code, 'ERR_RH_DIAL_FAILED');
      assert.match(String(call.error?.cause), /no kubeconfig yet/);
    }
    assert.equal(await Call.text(identity), 'ok');
    assert.equal(asked, 2);
  });

  test('while it is looked for, limits, signals and removal hold as ever', async () => {
    const clock = new ManualClock();
    await using pool = new TransportPool({ clock });
    const identity = pool.identity('cluster', () => new Promise<never>(() => undefined));
    const aborter = new AbortController();
    const timed = Call.start(identity, { timeoutMs: 1_000 });
    const signalled = Call.start(identity, { signal: aborter.signal });
    const given = Call.start(identity);
    const removed = Call.start(identity);
    clock.advance(1_000);
    aborter.abort(new Error('enough'));
    given.controller.abort(new Error('changed my mind'));
    await identity.close();
    assert.deepEqual(
      [timed, signalled, given, removed].map((call) => call.code),
      ['ERR_RH_REQUEST_TIMEOUT', 'ERR_RH_ABORTED', 'changed my mind', 'ERR_RH_IDENTITY_CLOSED'],
    );
    assert.equal(clock.pending, 0);
  });

  test('a rotation to a function is noticed at once, moves what waits, and drains what is under way', async () => {
    const clock = new ManualClock();
    await using pair = await servers('http/1.1');
    const [old, next] = pair;
    await using pool = new TransportPool({ clock });
    const identity = pool.identity('cluster', variant(old.url, 'old'));
    const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
    await watch.head;
    const found = Promise.withResolvers<Endpoint>();
    identity.rotate(() => found.promise);
    const call = Call.start(identity);
    await turns();
    assert.equal(old.requests.length, 1);
    found.resolve(variant(next.url, 'new'));
    await call.ended;
    assert.equal(call.body, 'ok');
    assert.equal(next.requests.length, 1);
    clock.advance(60_000);
    assert.equal(watch.code, 'ERR_RH_DRAINED');
  });

  test('when it cannot be found, new requests fail with the reason and what is under way goes on', async () => {
    await using server = await listen();
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', variant(server.url, 'old'));
    const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
    await watch.head;
    identity.rotate(() => Promise.reject(new Error('half written')));
    assert.equal(await Call.code(identity), 'ERR_RH_DIAL_FAILED');
    assert.ok(!watch.settled);
    identity.rotate(variant(server.url, 'old'));
    assert.equal(await Call.text(identity), 'ok');
    assert.ok(!watch.settled);
    assert.equal(identity.generation, 1);
    await pool.destroy();
  });

  test('an answer that comes after a rotation is of no interest any more', async () => {
    await using pair = await servers('http/1.1');
    const [old, next] = pair;
    await using pool = new TransportPool();
    const late = Promise.withResolvers<Endpoint>();
    const identity = pool.identity('cluster', () => late.promise);
    const call = Call.start(identity);
    identity.rotate(variant(next.url, 'new'));
    late.resolve(variant(old.url, 'old'));
    await call.ended;
    assert.equal(call.body, 'ok');
    assert.equal(old.accepted, 0);
    assert.equal(identity.endpoint?.dialer.id, 'new');
  });
});

type Servers = [RecordingServer, RecordingServer] & AsyncDisposable;

async function servers(protocol: HttpProtocol): Promise<Servers> {
  const pair: [RecordingServer, RecordingServer] = [await listen(protocol), await listen(protocol)];
  return Object.assign(pair, {
    async [Symbol.asyncDispose]() {
      await Promise.all(pair.map((server) => server[Symbol.asyncDispose]()));
    },
  });
}
