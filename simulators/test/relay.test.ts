import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';
import { CertificateAuthority, RecordingServer, Relay } from '@roundhouse/simulators';

/** Both ends of relayed connections in hand: the target side is a plain listener. */
async function rig() {
  const sockets: Socket[] = [];
  const accepted: Socket[] = [];
  const arrivals: ((socket: Socket) => void)[] = [];
  const listener = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
    const waiting = arrivals.shift();
    if (waiting === undefined) accepted.push(socket);
    else waiting(socket);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  assert(typeof address === 'object' && address !== null);
  const relay = await Relay.listen({ target: { port: address.port } });
  return {
    relay,
    /** Connections that have arrived and nobody has asked for. */
    accepted,
    async client(): Promise<Socket> {
      const socket = net.connect({ port: relay.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
      return socket;
    },
    async arrival(): Promise<Socket> {
      const socket = accepted.shift();
      if (socket !== undefined) return socket;
      return new Promise((resolve) => {
        arrivals.push(resolve);
      });
    },
    async [Symbol.asyncDispose]() {
      await relay[Symbol.asyncDispose]();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        listener.close(resolve);
      });
    },
  };
}

/** At least `length` bytes; the socket is left paused. */
async function read(socket: Socket, length: number): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  let received = 0;
  const take = (chunk: Buffer) => {
    chunks.push(chunk);
    received += chunk.length;
    if (received >= length) resolve();
  };
  socket.on('data', take).resume();
  await promise;
  socket.pause().off('data', take);
  return Buffer.concat(chunks);
}

/** How a socket's life ends: by the other end's FIN, or by RST. */
async function ending(socket: Socket): Promise<'fin' | 'rst'> {
  return new Promise((resolve) => {
    socket.once('end', () => resolve('fin'));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') resolve('rst');
    });
    socket.resume();
  });
}

test('bytes pass both ways unchanged, and many of them', async () => {
  await using peers = await rig();
  const client = await peers.client();
  const target = await peers.arrival();
  const bytes = Buffer.alloc(8 * 1024 * 1024, 'roundhouse');
  const up = read(target, bytes.length);
  const down = read(client, bytes.length);
  client.write(bytes);
  target.write(bytes);
  assert.ok((await up).equals(bytes));
  assert.ok((await down).equals(bytes));
  assert.deepEqual([peers.relay.open, peers.relay.accepted], [1, 1]);
});

test('half-close is kept: an end passes one way, and the other way goes on', async () => {
  await using peers = await rig();
  const client = await peers.client();
  const target = await peers.arrival();
  client.end('question');
  assert.equal(String(await read(target, 8)), 'question');
  await once(target.resume(), 'end');
  const answer = read(client, 6);
  target.end('answer');
  assert.equal(String(await answer), 'answer');
  await peers.relay.waitForOpen(0);
});

test('a reset passes to the other end, from either side', async () => {
  await using peers = await rig();
  for (const side of ['client', 'target'] as const) {
    const pair = { client: await peers.client(), target: await peers.arrival() };
    const other = ending(side === 'client' ? pair.target : pair.client);
    pair[side].resetAndDestroy();
    assert.equal(await other, 'rst');
    await peers.relay.waitForOpen(0);
  }
});

test('a target that cannot be reached is a reset for the client', async () => {
  const unused = net.createServer().listen(0, '127.0.0.1');
  await once(unused, 'listening');
  const address = unused.address();
  assert(typeof address === 'object' && address !== null);
  await new Promise((resolve) => {
    unused.close(resolve);
  });
  await using relay = await Relay.listen({ target: { port: address.port } });
  assert.equal(await ending(net.connect(relay.port, '127.0.0.1')), 'rst');
  await relay.waitForOpen(0);
});

test('frozen, nothing passes and nobody is told: not data, not FIN, not RST; thawed, all of it does', async () => {
  await using peers = await rig();
  const [ended, cut] = [await peers.client(), await peers.client()];
  const [endedTarget, cutTarget] = [await peers.arrival(), await peers.arrival()];
  const told: string[] = [];
  for (const target of [endedTarget, cutTarget]) {
    for (const event of ['data', 'end', 'error', 'close']) target.on(event, () => told.push(event));
  }
  peers.relay.freeze();
  ended.end('into the hole');
  cut.resetAndDestroy();
  endedTarget.write('and back');
  await delay(100);
  assert.deepEqual(told, []);
  assert.equal(ended.bytesRead, 0);
  assert.equal(peers.relay.open, 2);

  const reset = ending(cutTarget);
  const back = read(ended, 8);
  peers.relay.thaw();
  assert.equal(await reset, 'rst');
  assert.equal(String(await back), 'and back');
  if (!endedTarget.readableEnded) await once(endedTarget.resume(), 'end');
  assert.equal(endedTarget.bytesRead, 'into the hole'.length);
});

test('one direction can be frozen alone', async () => {
  await using peers = await rig();
  const client = await peers.client();
  const target = await peers.arrival();
  peers.relay.freeze('down');
  const up = read(target, 2);
  target.write('down');
  client.write('up');
  assert.equal(String(await up), 'up');
  await delay(50);
  assert.equal(client.bytesRead, 0);
  const down = read(client, 4);
  peers.relay.thaw('down');
  assert.equal(String(await down), 'down');
});

test('a client that comes while the relay is frozen is connected, and the target hears of it after the thaw', async () => {
  await using peers = await rig();
  peers.relay.freeze();
  const client = await peers.client();
  client.write('early');
  await peers.relay.waitForOpen(1);
  await delay(50);
  assert.equal(peers.accepted.length, 0);
  peers.relay.thaw();
  assert.equal(String(await read(await peers.arrival(), 5)), 'early');
});

test('throttled, bytes take their time; the limit can be lifted on the way', async () => {
  await using peers = await rig();
  const client = await peers.client();
  const target = await peers.arrival();
  peers.relay.throttle(100_000);
  const startedAt = performance.now();
  const first = read(target, 20_000);
  client.write(Buffer.alloc(2_000_000));
  await first;
  // 20 kB at 100 kB/s are 200 ms; a slow machine only makes it longer.
  assert.ok(performance.now() - startedAt >= 100);
  const rest = read(target, 2_000_000 - 40_000);
  peers.relay.throttle(undefined);
  await rest;
  // What is left would have taken 19 s.
  assert.ok(performance.now() - startedAt < 5000);
});

test('cut is FIN to both ends, reset is RST to both ends, also when frozen, and the relay goes on', async () => {
  await using peers = await rig();
  for (const [how, expected] of [
    ['cut', 'fin'],
    ['reset', 'rst'],
  ] as const) {
    for (const frozen of [false, true]) {
      const client = await peers.client();
      const target = await peers.arrival();
      if (frozen) peers.relay.freeze();
      const endings = Promise.all([ending(client), ending(target)]);
      peers.relay[how]();
      assert.deepEqual(await endings, [expected, expected]);
      client.destroy();
      target.destroy();
      await peers.relay.waitForOpen(0);
      peers.relay.thaw();
    }
  }
  assert.equal(peers.relay.accepted, 4);
});

test('a client that was accepted while the relay was frozen can be cut and reset before the target hears of it', async () => {
  await using peers = await rig();
  peers.relay.freeze();
  for (const [how, expected] of [
    ['cut', 'fin'],
    ['reset', 'rst'],
  ] as const) {
    const client = await peers.client();
    await peers.relay.waitForOpen(1);
    const end = ending(client);
    peers.relay[how]();
    assert.equal(await end, expected);
    client.destroy();
    await peers.relay.waitForOpen(0);
  }
  peers.relay.thaw();
  assert.equal(peers.accepted.length, 0);
});

test('a TLS handshake passes through, and hangs for as long as the relay is frozen', async () => {
  const authority = await CertificateAuthority.create();
  await using server = await RecordingServer.listen({
    tls: await authority.issue({ commonName: 'server', usage: 'server' }),
  });
  await using relay = await Relay.listen({ target: server });
  relay.freeze('down');
  const client = tls.connect({ host: '127.0.0.1', port: relay.port, ca: authority.certificatePem });
  await server.waitForAccepted(1);
  assert.equal(server.secured, 0);
  const secured = once(client, 'secureConnect');
  relay.thaw();
  await secured;
  client.destroy();
  await server.waitForOpen(0);
});

test('closing ends everything, frozen or not', async () => {
  await using server = await RecordingServer.listen();
  const relay = await Relay.listen({ target: server });
  const client = net.connect(relay.port, '127.0.0.1');
  client.on('error', () => {});
  await server.waitForOpen(1);
  relay.freeze();
  const late = net.connect(relay.port, '127.0.0.1');
  late.on('error', () => {});
  await relay.waitForOpen(2);
  await relay[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
  assert.equal(relay.open, 0);
  await server.waitForOpen(0);
});
