/** An upgrade has a connection of its own: of the same trust as the others, half-open, and the caller's when it was agreed to. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { before, describe, test } from 'node:test';
import { CertificateAuthority, ManualClock, RecordingServer, UpgradeServer } from '@roundhouse/simulators';
import type { UpgradeServerOptions } from '@roundhouse/simulators';
import { Endpoint, RoundhouseError, TlsMaterial, TransportPool, directDialer } from '@roundhouse/transport';
import type { Identity, SwitchedAnswer, UpgradeOptions } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

const spdy: UpgradeOptions = { method: 'POST', path: '/exec?command=ls', protocol: 'SPDY/3.1', headers: [] };
const webSocket: UpgradeOptions = {
  method: 'GET',
  path: '/exec',
  protocol: 'websocket',
  headers: ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version', '13'],
};

/** What a test leaves open is cut when its pool is closed. */
const cutting = { drainTimeoutMs: 1 };

const fails = (code: string) => (error: unknown) => RoundhouseError.is(error) && error.code === code;

async function switched(identity: Pick<Identity, 'upgrade'>, options = spdy): Promise<SwitchedAnswer> {
  const answer = await identity.upgrade(options);
  assert.ok(answer.switched, 'the server did not switch');
  return answer;
}

/** Reads until so many bytes are there. */
async function read(socket: Duplex, bytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  while (size < bytes) {
    const chunk: unknown = socket.read();
    if (Buffer.isBuffer(chunk)) {
      chunks.push(chunk);
      size += chunk.length;
    } else {
      await once(socket, 'readable');
    }
  }
  return Buffer.concat(chunks).toString('latin1');
}

async function readToEnd(socket: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'end');
  return Buffer.concat(chunks).toString('latin1');
}

describe('an upgrade', () => {
  let authority: CertificateAuthority;
  let tls: NonNullable<UpgradeServerOptions['tls']>;
  let trusting: TlsMaterial;

  before(async () => {
    authority = await CertificateAuthority.create();
    const ca = authority.certificatePem;
    tls = {
      ...(await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], usage: 'server' })),
      clientCaPem: ca,
    };
    const client = await authority.issue({ commonName: 'gateway', usage: 'client' });
    trusting = TlsMaterial.fromPem({ ca, cert: client.certPem, key: client.keyPem });
  });

  for (const kind of ['plain', 'TLS'] as const) {
    const listen = (options: UpgradeServerOptions = {}) =>
      UpgradeServer.listen({ ...options, ...(kind === 'TLS' && { tls }) });
    const endpoint = ({ url }: UpgradeServer) =>
      Endpoint.from({ url, ...(kind === 'TLS' && { material: trusting }) });

    test(`${kind}: bytes go both ways, and each side may end before the other`, async () => {
      await using server = await listen({
        allowHalfOpen: true,
        answer: (connection) => void connection.write(`${connection.switchingHead()}early `),
      });
      await using pool = new TransportPool({ limits: cutting });
      const { socket } = await switched(pool.identity('cluster', endpoint(server)));
      assert.equal(await read(socket, 6), 'early ');
      socket.write('question');
      const connection = await server.head();
      await server.until(
        () => connection.bytes === 8,
        () => 'the question',
      );
      socket.end();
      await server.until(
        () => connection.ended,
        () => 'the end of our side',
      );
      await connection.write('an answer that comes after');
      connection.socket.end();
      assert.equal(await readToEnd(socket), 'an answer that comes after');
      await server.waitForOpen(0);
      await until(() => pool.inspect().totals.upgrades === 0, 'the upgrade left the pool');
    });

    test(`${kind}: the server's end leaves our side open`, async () => {
      await using server = await listen({
        answer: (connection) => void connection.socket.end(connection.switchingHead()),
      });
      await using pool = new TransportPool({ limits: cutting });
      const { socket } = await switched(pool.identity('cluster', endpoint(server)));
      assert.equal(await readToEnd(socket), '');
      socket.end('still heard');
      const connection = await server.head();
      await server.until(
        () => connection.ended,
        () => 'our end',
      );
      assert.equal(connection.received.toString(), 'still heard');
      await server.waitForOpen(0);
    });

    test(`${kind}: a reset is an error and no end`, async () => {
      await using server = await listen({
        answer: (connection) => void connection.write(connection.switchingHead()),
      });
      await using pool = new TransportPool({ limits: cutting });
      const { socket } = await switched(pool.identity('cluster', endpoint(server)));
      let ended = false;
      socket.once('end', () => (ended = true)).resume();
      const failed = once(socket, 'error');
      (await server.head()).reset();
      const [error]: unknown[] = await failed;
      assert.ok(error instanceof Error);
      assert.equal(Reflect.get(error, 'code'), 'ECONNRESET');
      assert.equal(ended, false);
      await until(() => pool.inspect().totals.upgrades === 0, 'the upgrade left the pool');
    });
  }

  for (const kind of ['plain', 'TLS'] as const) {
    test(`${kind}: can be reset, which the server does not take for an end`, async () => {
      await using server = await UpgradeServer.listen(kind === 'TLS' ? { tls } : {});
      await using pool = new TransportPool({ limits: cutting });
      const answer = await switched(
        pool.identity(
          'cluster',
          Endpoint.from({ url: server.url, ...(kind === 'TLS' && { material: trusting }) }),
        ),
      );
      answer.reset();
      await server.waitForOpen(0);
      const connection = await server.head();
      assert.equal(connection.ended, false);
      assert.equal(Reflect.get(connection.error ?? {}, 'code'), 'ECONNRESET');
    });
  }

  test('is asked for as it was given: fields in their order, repeats as repeats, spelled as they were', async () => {
    await using server = await UpgradeServer.listen();
    await using pool = new TransportPool({ limits: cutting });
    const versions = ['v5', 'v4', 'v3'].map((version) => `${version}.channel.k8s.io`);
    await switched(pool.identity('cluster', Endpoint.from({ url: server.url })), {
      ...spdy,
      protocol: 'sPdY/3.1',
      path: '/a%2Fb//c?x=%20&x=2',
      headers: [
        'X-One',
        '1',
        ...versions.flatMap((version) => ['X-Stream-Protocol-Version', version]),
        'x-One',
        '2',
      ],
    });
    const { requestLine, fields } = await server.head();
    assert.equal(requestLine, 'POST /a%2Fb//c?x=%20&x=2 HTTP/1.1');
    assert.deepEqual(
      fields.filter(([name]) => name.startsWith('X') || name.startsWith('x')),
      [['X-One', '1'], ...versions.map((version) => ['X-Stream-Protocol-Version', version]), ['x-One', '2']],
    );
    const others = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
    assert.equal(others['upgrade'], 'sPdY/3.1');
    assert.equal(others['connection'], 'upgrade');
    assert.equal(others['content-length'], '0');
    assert.equal(others['host'], `127.0.0.1:${server.port}`);
  });

  test('BB-42, G19, W1: offers HTTP/1.1 only, also where the other connections speak HTTP/2, with the same certificate and a resumed session', async () => {
    await using requests = await RecordingServer.listen({ tls, protocols: ['h2', 'http/1.1'] });
    await using server = await UpgradeServer.listen({ tls, protocols: ['h2', 'http/1.1'] });
    // One address for both kinds of connection: what is upgraded goes to the other port.
    let port = requests.port;
    const dialer = {
      id: 'to either',
      dial: (target: { host: string }, options: { signal: AbortSignal }) =>
        directDialer.dial({ host: target.host, port }, options),
    };
    await using pool = new TransportPool({ limits: cutting });
    const identity = pool.identity(
      'cluster',
      Endpoint.from({ url: requests.url, material: trusting, dialer }),
    );
    await Call.text(identity);
    assert.equal(requests.connections[0]?.protocol, 'h2');
    port = server.port;
    for (const resumed of [false, true]) {
      const { socket } = await switched(identity);
      socket.write('x');
      assert.equal(await read(socket, 1), 'x');
      const connection = server.connections.at(-1);
      assert.equal(connection?.alpnProtocol, 'http/1.1');
      // The session of the other server is none of this one, which has a key of its own.
      assert.equal(connection?.sessionReused, resumed);
      assert.equal(connection?.clientCommonName ?? (resumed ? 'gateway' : undefined), 'gateway');
      socket.destroy();
    }
    assert.equal(requests.accepted, 1);
    assert.equal(pool.inspect().transports[0]?.dials, 3);
    await server.waitForOpen(0);
  });

  test('BB-42: fails at once where the server speaks HTTP/2 only', async () => {
    await using server = await RecordingServer.listen({ tls, protocols: ['h2'] });
    await using pool = new TransportPool({ limits: cutting });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url, material: trusting }));
    await Call.text(identity);
    // However often: the server is there, so that says nothing against other dials.
    for (let time = 0; time < 6; time += 1) {
      await assert.rejects(identity.upgrade(spdy), fails('ERR_RH_ALPN_MISMATCH'));
    }
    await Call.text(identity);
    assert.equal(server.open, 1);
    assert.equal(pool.inspect().transports[0]?.breaker, 'closed');
  });

  test('BB-42: works where the server knows nothing of ALPN', async () => {
    await using server = await UpgradeServer.listen({ tls: { ...tls, alpn: false } });
    await using pool = new TransportPool({ limits: cutting });
    const { socket } = await switched(
      pool.identity('cluster', Endpoint.from({ url: server.url, material: trusting })),
    );
    socket.write('x');
    assert.equal(await read(socket, 1), 'x');
  });

  test('G9: goes the way of its identity: through its dialer, and nowhere when the dialer refuses', async () => {
    await using server = await UpgradeServer.listen();
    await using pool = new TransportPool({ limits: cutting });
    let dials = 0;
    const dialer = {
      id: 'refusing',
      dial: () => {
        dials += 1;
        return Promise.reject(new Error('the way is closed'));
      },
    };
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url, dialer }));
    await assert.rejects(identity.upgrade(spdy), fails('ERR_RH_DIAL_FAILED'));
    assert.equal(dials, 1);
    assert.equal(server.accepted, 0);
  });

  test('is refused beyond the limit of its endpoint and beyond that of the pool, and taken again when one has ended', async () => {
    await using server = await UpgradeServer.listen();
    await using other = await UpgradeServer.listen();
    await using pool = new TransportPool({ limits: { ...cutting, maxUpgradesPerHost: 2, maxUpgrades: 3 } });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
    const another = pool.identity('another', Endpoint.from({ url: other.url }));
    const first = await switched(identity);
    await switched(identity);
    await assert.rejects(identity.upgrade(spdy), fails('ERR_RH_UPGRADE_LIMIT'));
    await switched(another);
    await assert.rejects(another.upgrade(spdy), fails('ERR_RH_UPGRADE_LIMIT'));
    first.socket.destroy();
    await until(() => pool.inspect().totals.upgrades === 2, 'the first has left');
    await switched(identity);
    assert.deepEqual(
      pool.inspect().transports.map(({ upgrades }) => upgrades),
      [2, 1],
    );
  });

  test('takes no place of requests, and requests none of it', async () => {
    await using server = await UpgradeServer.listen();
    await using requests = await RecordingServer.listen();
    let port = server.port;
    const dialer = {
      id: 'to either',
      dial: (target: { host: string }, options: { signal: AbortSignal }) =>
        directDialer.dial({ host: target.host, port }, options),
    };
    await using pool = new TransportPool({
      limits: { ...cutting, maxConnectionsPerHost: 1, maxStreamsPerHost: 1 },
    });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url, dialer }));
    await Promise.all([1, 2, 3].map(() => switched(identity)));
    port = requests.port;
    assert.equal(await Call.text(identity), 'ok');
  });

  test('holds its transport in the pool as long as it lasts', async () => {
    await using server = await UpgradeServer.listen();
    await using other = await UpgradeServer.listen();
    await using pool = new TransportPool({ limits: { maxIdleTransports: 1, maxTransports: 1 } });
    const { socket } = await switched(pool.identity('cluster', Endpoint.from({ url: server.url })));
    assert.throws(() => pool.lease(Endpoint.from({ url: other.url })), fails('ERR_RH_AT_CAPACITY'));
    socket.destroy();
    await server.waitForOpen(0);
    await until(() => pool.inspect().totals.upgrades === 0, 'it has ended');
    using _lease = pool.lease(Endpoint.from({ url: other.url }));
  });
});

describe('an upgrade ends', () => {
  const silent: UpgradeServerOptions = { answer: () => undefined };

  test('with its identity, whether it was answered or not', async () => {
    await using server = await UpgradeServer.listen();
    await using quiet = await UpgradeServer.listen(silent);
    await using pool = new TransportPool({ limits: cutting });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
    const waiting = pool.identity('waiting', Endpoint.from({ url: quiet.url }));
    const { socket } = await switched(identity);
    const asked = waiting.upgrade(spdy);
    await quiet.head();
    const failed = once(socket, 'error');
    const refused = assert.rejects(asked, fails('ERR_RH_IDENTITY_CLOSED'));
    await Promise.all([identity.close(), waiting.close()]);
    const [error]: unknown[] = await failed;
    assert.ok(fails('ERR_RH_IDENTITY_CLOSED')(error));
    await refused;
    await Promise.all([server.waitForOpen(0), quiet.waitForOpen(0)]);
    await assert.rejects(identity.upgrade(spdy), fails('ERR_RH_IDENTITY_CLOSED'));
  });

  test('at the drain limit of upgrades after a rotation, which requests do not share', async () => {
    const clock = new ManualClock();
    await using server = await UpgradeServer.listen();
    await using next = await UpgradeServer.listen();
    await using pool = new TransportPool({
      clock,
      limits: { drainTimeoutMs: 1_000, upgradeDrainTimeoutMs: 60_000, requestTimeoutMs: 0 },
    });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
    const { socket } = await switched(identity);
    identity.rotate(Endpoint.from({ url: next.url }));
    await switched(identity);
    assert.equal(next.accepted, 1);
    clock.advance(59_999);
    socket.write('x');
    assert.equal(await read(socket, 1), 'x');
    const failed = once(socket, 'error');
    clock.advance(1);
    const [error]: unknown[] = await failed;
    assert.ok(fails('ERR_RH_DRAINED')(error));
    await server.waitForOpen(0);
    assert.equal(next.open, 1);
    await pool.destroy();
  });

  test('with its pool: at the drain limit, or at once when that is destroyed', async () => {
    await using server = await UpgradeServer.listen();
    const clock = new ManualClock();
    const closing = new TransportPool({ clock, limits: { drainTimeoutMs: 1_000 } });
    const destroyed = new TransportPool();
    const endpoint = Endpoint.from({ url: server.url });
    const late = closing.identity('late', endpoint);
    const { socket } = await switched(late);
    const { socket: cut } = await switched(destroyed.identity('cut', endpoint));
    const ends = Promise.all([once(socket, 'error'), once(cut, 'error')]);
    const closed = closing.close();
    await assert.rejects(late.upgrade(spdy), fails('ERR_RH_POOL_CLOSED'));
    clock.advance(1_000);
    await Promise.all([closed, destroyed.destroy()]);
    const errors: unknown[] = (await ends).flat();
    assert.ok(fails('ERR_RH_DRAINED')(errors[0]));
    assert.ok(fails('ERR_RH_POOL_CLOSED')(errors[1]));
    await server.waitForOpen(0);
  });

  test('when its caller gives up, before the connection, during the dial, or before the answer', async () => {
    await using server = await UpgradeServer.listen(silent);
    await using pool = new TransportPool({ limits: cutting });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
    await assert.rejects(identity.upgrade({ ...spdy, signal: AbortSignal.abort() }), fails('ERR_RH_ABORTED'));
    assert.equal(server.accepted, 0);
    const controller = new AbortController();
    const asked = identity.upgrade({ ...spdy, signal: controller.signal });
    await server.head();
    controller.abort();
    await assert.rejects(asked, fails('ERR_RH_ABORTED'));
    await server.waitForOpen(0);
    assert.equal(pool.inspect().totals.upgrades, 0);
  });

  test('BB-48: at the dial limit, and a dial that succeeds too late has no owner and is destroyed', async () => {
    const clock = new ManualClock();
    await using server = await UpgradeServer.listen(silent);
    await using pool = new TransportPool({ clock, limits: { dialTimeoutMs: 1_000 } });
    const gate = Promise.withResolvers<void>();
    const dialing = Promise.withResolvers<void>();
    const dialer = {
      id: 'late',
      dial: async (target: { host: string; port: number }) => {
        dialing.resolve();
        await gate.promise;
        return directDialer.dial(target, { signal: new AbortController().signal });
      },
    };
    const asked = pool.identity('cluster', Endpoint.from({ url: server.url, dialer })).upgrade(spdy);
    const refused = assert.rejects(asked, fails('ERR_RH_DIAL_TIMEOUT'));
    await dialing.promise;
    clock.advance(1_000);
    await refused;
    gate.resolve();
    await server.until(
      () => server.accepted === 1 && server.open === 0,
      () => `the late connection to end, ${server.open} open`,
    );
    assert.equal(pool.inspect().transports[0]?.dialFailures, 1);
  });

  test('when there is no answer in time', async () => {
    const clock = new ManualClock();
    await using server = await UpgradeServer.listen(silent);
    await using pool = new TransportPool({ clock });
    const asked = pool
      .identity('cluster', Endpoint.from({ url: server.url }))
      .upgrade({ ...webSocket, timeoutMs: 5_000 });
    const refused = assert.rejects(asked, fails('ERR_RH_REQUEST_TIMEOUT'));
    await server.head();
    clock.advance(5_000);
    await refused;
    await server.waitForOpen(0);
  });
});
