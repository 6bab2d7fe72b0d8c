/** Open tunnels: how they end, what they carry, and what a reader that does not read does to others. */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { suite, test } from 'node:test';
import tls from 'node:tls';
import { packetType } from '@roundhouse/simulators';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { authority, startRig, startTarget } from './rig/tunnels.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

interface End {
  readonly ended: boolean;
  readonly error: Error | null;
}

async function endOf(tunnel: Duplex): Promise<End> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let ended = false;
  tunnel
    .once('end', () => {
      ended = true;
    })
    .once('close', () => resolve());
  await promise;
  return { ended, error: tunnel.errored };
}

suite('open tunnels', () => {
  test('a close by the other side is an end behind all data; by name it is an error behind all data', async () => {
    await using target = await startTarget((socket) => socket.resume());
    await using rig = await startRig(target.port);
    for (const error of ['', 'boom']) {
      const tunnel = await rig.dialer.dial('c1:443');
      const { connectId } = rig.server.tunnel;
      rig.server.tunnel.send(
        { type: packetType.data, connectId, data: Buffer.from('last words') },
        { type: packetType.data, connectId },
        { type: packetType.drain },
        { type: packetType.data, connectId: 99n, data: Buffer.from('of somebody else') },
        { type: packetType.closeResponse, connectId, error },
      );
      let said = '';
      tunnel.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      const end = await endOf(tunnel);
      assert.equal(said, 'last words');
      assert.equal(end.ended, error === '');
      assert.equal(end.error === null ? '' : 'boom', error);
      await rig.server.until(() => rig.server.tunnel.ended, 'our side has ended');
    }
    assert.equal(rig.dialer.inspect().foreignPackets, 2);
  });

  test('a stream that ends without a close is an error, and never an end', async () => {
    await using target = await startTarget((socket) => socket.resume());
    await using rig = await startRig(target.port);
    const tunnel = (await rig.dialer.dial('c1:443')).resume();
    rig.server.tunnel.finish();
    const { ended, error } = await endOf(tunnel);
    assert.equal(ended, false);
    assert.match(String(error), /ERR_RH_TUNNEL_LOST/);
  });

  test('a session that is lost ends each of its tunnels once, with an error', async () => {
    await using target = await startTarget((socket) => socket.resume());
    await using rig = await startRig(target.port);
    const tunnels = await Promise.all(Array.from({ length: 100 }, async () => rig.dialer.dial('c1:443')));
    const ends = tunnels.map(async (tunnel) => endOf(tunnel.resume()));
    rig.server.kill();
    for (const { ended, error } of await Promise.all(ends)) {
      assert.equal(ended, false);
      assert.match(String(error), /ERR_RH_TUNNEL_LOST/);
    }
    (await rig.dialer.dial('c1:443')).destroy();
  });

  test('destroy() asks for a close once, behind what was written, and waits for nobody; a close that is not answered is cut', async () => {
    await using target = await startTarget((socket) => socket.resume());
    await using rig = await startRig(target.port);
    rig.server.behaviour = { keepCloses: true };
    const tunnel = await rig.dialer.dial('c1:443');
    tunnel.write('x');
    tunnel.destroy();
    await endOf(tunnel);
    await rig.server.until(() => rig.server.tunnel.types.length === 3, 'a close');
    assert.deepEqual(rig.server.tunnel.types, [
      packetType.dialRequest,
      packetType.data,
      packetType.closeRequest,
    ]);
    rig.clock.advance(10_000);
    await rig.server.until(() => rig.server.open === 0, 'the stream has ended');
    assert.equal(rig.dialer.inspect().closeTimeouts, 1);
  });

  test('BB-69: a reader that does not read is cut at its limit, holds a window at most, and its sibling does not feel it', async () => {
    const bulk = Buffer.alloc(1_048_576, 'x');
    await using target = await startTarget((socket) => {
      socket.once('data', (asked: Buffer) => {
        if (asked.toString() === 'bulk') {
          for (let index = 0; index < 64; index += 1) socket.write(bulk);
        } else {
          socket.unshift(asked);
          socket.pipe(socket);
        }
      });
    });
    await using rig = await startRig(target.port);
    const slow = await rig.dialer.dial('c1:443');
    slow.write('bulk');
    slow.pause();
    await until(() => rig.dialer.inspect().bufferedBytes > 500_000, 'much waits');
    const sibling = await rig.dialer.dial('c1:443');
    for (let index = 0; index < 100; index += 1) {
      sibling.write('hello');
      const [chunk] = (await once(sibling, 'data')) as [Buffer];
      assert.equal(chunk.toString(), 'hello');
    }
    assert.ok(rig.dialer.inspect().bufferedBytes < 2 * 1_048_576);
    const end = endOf(slow);
    rig.clock.advance(10_000);
    assert.match(String((await end).error), /ERR_RH_TUNNEL_STALLED/);
    assert.equal(sibling.destroyed, false);
    sibling.destroy();
  });

  test('32 MiB go both ways at once, whole', async () => {
    await using target = await startTarget((socket) => socket.pipe(socket));
    await using rig = await startRig(target.port);
    const tunnel = await rig.dialer.dial('c1:443');
    const payload = randomBytes(1_048_576);
    const [sent, got] = [createHash('sha256'), createHash('sha256')];
    let left = 32 * payload.length;
    const whole = Promise.withResolvers<void>();
    tunnel.on('data', (chunk: Buffer) => {
      got.update(chunk);
      left -= chunk.length;
      if (left === 0) whole.resolve();
    });
    for (let index = 0; index < 32; index += 1) {
      sent.update(payload);
      if (!tunnel.write(payload)) await once(tunnel, 'drain');
    }
    await whole.promise;
    assert.equal(got.digest('hex'), sent.digest('hex'));
    assert.ok(rig.server.tunnel.received.every(({ data }) => (data?.length ?? 0) <= 32_768));
    tunnel.destroy();
  });

  test('TLS and HTTP go over a tunnel as over a socket', async () => {
    const certificate = await authority.issue({
      commonName: 'kubernetes',
      dnsNames: ['kubernetes.default.svc'],
      usage: 'server',
    });
    const handler = http.createServer((_request, response) => response.end('ok'));
    const secure = tls.createServer({ cert: certificate.certPem, key: certificate.keyPem }, (socket) => {
      handler.emit('connection', socket);
    });
    secure.listen(0, '127.0.0.1');
    await once(secure, 'listening');
    const address = secure.address();
    assert.ok(address !== null && typeof address !== 'string');
    await using rig = await startRig(address.port);
    const over = async (servername: string): Promise<tls.TLSSocket> => {
      const socket = tls.connect({
        socket: await rig.dialer.dial('c1:443'),
        ca: authority.certificatePem,
        servername,
      });
      await once(socket, 'secureConnect');
      return socket;
    };
    await assert.rejects(over('elsewhere.test'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    const socket = await over('kubernetes.default.svc');
    const request = http.get({ createConnection: () => socket, host: 'c1', path: '/' });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    let body = '';
    for await (const chunk of response) body += String(chunk);
    assert.equal(body, 'ok');
    socket.destroy();
    secure.close();
    await rig.server.until(() => rig.server.open === 0, 'no stream open');
  });

  test('a dialer that closes takes no dials, lets tunnels end, and cuts them at its limit', async () => {
    await using target = await startTarget((socket) => socket.resume());
    await using rig = await startRig(target.port);
    const tunnel = (await rig.dialer.dial('c1:443')).resume();
    const closing = rig.dialer.close({ timeoutMs: 1_000 });
    await assert.rejects(rig.dialer.dial('c1:443'), { code: 'ERR_RH_TUNNEL_CLOSED' });
    assert.equal(tunnel.destroyed, false);
    rig.clock.advance(1_000);
    await closing;
    assert.equal(tunnel.destroyed, true);
    assert.equal(rig.dialer.inspect().state, 'closed');
  });
});
