/** Whoever dials may be anybody's code: what it does wrong fails requests, and leaves nothing behind. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Duplex, duplexPair } from 'node:stream';
import { describe, test } from 'node:test';
import { CertificateAuthority, ManualClock, RecordingServer, Relay } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool, directDialer } from '@roundhouse/transport';
import type { DialOptions, Dialer } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { RawServer, okResponse } from './rig/raw-server.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const through = (dial: Dialer['dial'], url = 'http://somewhere.test') =>
  Endpoint.from({ url, dialer: { id: 'test', dial } });

describe('a dialer', () => {
  test('without an id is refused', () => {
    for (const id of ['', undefined]) {
      const dialer = { ...directDialer, id } as Dialer;
      assert.throws(() => Endpoint.from({ url: 'http://a.test', dialer }), {
        code: 'ERR_RH_DIALER_UNIDENTIFIED',
      });
    }
  });

  const failing: Readonly<Record<string, Dialer['dial']>> = {
    'that throws': () => {
      throw new Error('no way');
    },
    'that rejects': () => Promise.reject(new Error('no way')),
    'that rejects with what is no error': async () => {
      const refusal: unknown = 'no way';
      throw refusal;
    },
  };
  for (const [what, dial] of Object.entries(failing)) {
    test(`G8, G9: ${what} fails with ERR_RH_DIAL_FAILED and the cause, and is asked again by the next request`, async () => {
      await using pool = new TransportPool();
      using lease = pool.lease(through(dial));
      for (let count = 0; count < 2; count += 1) {
        const call = Call.start(lease);
        await call.ended;
        assert.equal(call.code, 'ERR_RH_DIAL_FAILED');
        assert.match(String(call.error?.cause), /no way/);
      }
      assert.equal(pool.inspect().transports[0]?.dials, 2);
      assert.equal(pool.inspect().transports[0]?.dialFailures, 2);
    });
  }

  test('that returns what is closed already fails, and nobody loops', async () => {
    for (const url of ['http://closed.test', 'https://closed.test']) {
      await using pool = new TransportPool();
      using lease = pool.lease(
        through(async () => {
          const duplex = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
          duplex.destroy();
          await turns();
          return duplex;
        }, url),
      );
      assert.match((await Call.code(lease)) ?? '', /^ERR_RH_(?:DIAL_FAILED|TLS_FAILED)$/);
      assert.equal(pool.inspect().transports[0]?.dials, 1);
    }
  });

  test('that succeeds after it was given up has its connection closed', async () => {
    await using server = await RecordingServer.listen();
    const clock = new ManualClock();
    const late = Promise.withResolvers<void>();
    await using pool = new TransportPool({ clock });
    using lease = pool.lease(
      through(async () => {
        await late.promise;
        const socket = connect(server.port, '127.0.0.1');
        await once(socket, 'connect');
        return socket;
      }),
    );
    const call = Call.start(lease);
    await turns();
    clock.advance(10_000);
    await call.ended;
    assert.equal(call.code, 'ERR_RH_DIAL_TIMEOUT');
    late.resolve();
    await server.waitForAccepted(1);
    await server.waitForOpen(0);
  });

  test('may return any duplex: HTTP/1.1, HTTP/2 and TLS go over it', async () => {
    const authority = await CertificateAuthority.create();
    const certificate = await authority.issue({
      commonName: 'a',
      dnsNames: ['inside.test'],
      usage: 'server',
    });
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    for (const protocol of ['http/1.1', 'h2'] as const) {
      for (const secure of [false, true]) {
        await using server = await RecordingServer.listen({
          protocols: [protocol],
          ...(secure && { tls: certificate }),
        });
        const dial = (): Promise<Duplex> => {
          const socket = connect(server.port, '127.0.0.1');
          const [near, far] = duplexPair();
          far.pipe(socket).pipe(far);
          socket.on('error', () => far.destroy());
          socket.on('close', () => far.destroy());
          // Not left to the pair: on Node 24 the end of one half is no news to the other.
          near.on('close', () => socket.destroy());
          // Node.js 24 does not pass the end of one on to the other.
          near.on('close', () => far.destroy());
          return Promise.resolve(near);
        };
        await using pool = new TransportPool();
        using lease = pool.lease(
          Endpoint.from({
            url: `${secure ? 'https' : 'http'}://inside.test`,
            alpn: protocol,
            dialer: { id: 'pair', dial },
            ...(secure && { material }),
          }),
        );
        assert.equal(await Call.text(lease), 'ok', `${protocol} ${secure}`);
        assert.equal(await Call.text(lease, { method: 'POST', body: 'x' }), 'ok');
        assert.equal(server.accepted, 1);
        await pool.close();
        await server.waitForOpen(0);
      }
    }
  });

  test('whose duplex fails fails its request, and ends no process', async () => {
    for (const url of ['http://failing.test', 'https://failing.test']) {
      const duplexes: Duplex[] = [];
      await using pool = new TransportPool();
      using lease = pool.lease(
        through(() => {
          const duplex = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
          duplexes.push(duplex);
          return Promise.resolve(duplex);
        }, url),
      );
      const call = Call.start(lease);
      await until(() => duplexes.length > 0, 'the dial');
      await turns();
      duplexes[0]?.destroy(new Error('the tunnel broke'));
      await call.ended;
      assert.match(call.code ?? '', /^ERR_RH_(?:CONNECTION_LOST|TLS_FAILED)$/);
    }
  });
});

describe('BB-71: a dial that fails half-way', () => {
  const peers: Readonly<Record<string, (server: RawServer) => void>> = {
    'says nothing': () => undefined,
    ends: (server) => server.sockets.forEach((socket) => socket.end()),
    dies: (server) => server.sockets.forEach((socket) => socket.resetAndDestroy()),
    'answers in plain text': (server) => server.sockets.forEach((socket) => socket.end(okResponse)),
  };
  for (const [what, act] of Object.entries(peers)) {
    test(`leaves no socket in 50 attempts: a peer that accepts TCP, and in TLS ${what}`, async () => {
      const clock = new ManualClock();
      await using server = await RawServer.listen((socket) => socket.on('data', () => act(server)));
      const limits = { dialTimeoutMs: 1_000, breakerThreshold: 0 };
      await using pool = new TransportPool({ clock, limits });
      using lease = pool.lease(
        Endpoint.from({ url: server.url.replace('http:', 'https:'), alpn: 'http/1.1', insecure: true }),
      );
      for (let attempt = 1; attempt <= 50; attempt += 1) {
        const call = Call.start(lease);
        await until(() => server.sockets.length >= attempt || call.settled, 'an attempt');
        await turns(3);
        clock.advance(1_000);
        await call.ended;
        assert.match(call.code ?? '', /^ERR_RH_(?:DIAL_TIMEOUT|TLS_FAILED|DIAL_FAILED)$/);
        await until(() => server.open === 0, 'no socket left');
      }
      await pool.close();
      assert.equal(clock.pending, 0);
    });
  }

  test('a black hole behind a relay: given up at the limit, closed with it, and the pool goes on when it is over', async () => {
    const clock = new ManualClock();
    const authority = await CertificateAuthority.create();
    const certificate = await authority.issue({
      commonName: 'a',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    await using server = await RecordingServer.listen({ tls: certificate });
    await using relay = await Relay.listen({ target: server });
    await using pool = new TransportPool({ clock });
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    using lease = pool.lease(Endpoint.from({ url: `https://127.0.0.1:${relay.port}`, material }));
    relay.freeze();
    const call = Call.start(lease);
    await until(() => relay.accepted === 1, 'accepted');
    clock.advance(10_000);
    await call.ended;
    assert.equal(call.code, 'ERR_RH_DIAL_TIMEOUT');
    relay.thaw();
    await relay.waitForOpen(0);
    assert.equal(await Call.text(lease), 'ok');
  });

  test('is not dialed again once all who wanted it have gone', async () => {
    const signals: DialOptions[] = [];
    await using pool = new TransportPool();
    const identity = pool.identity(
      'x',
      through((_target, options) => {
        signals.push(options);
        return new Promise(() => undefined);
      }),
    );
    const calls = [1, 2, 3].map(() => Call.start(identity));
    await turns();
    for (const call of calls) {
      call.controller.abort(new Error('gone'));
    }
    await turns();
    const dials = signals.length;
    assert.ok(signals.every(({ signal }) => signal.aborted));
    assert.equal(pool.inspect().transports[0]?.connections.opening, 0);
    await turns(20);
    assert.equal(signals.length, dials);
  });
});
