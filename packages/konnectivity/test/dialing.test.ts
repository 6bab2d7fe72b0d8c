/** Dials: each has one outcome, its stream ends, and what came too late is closed. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { KonnectivityServer, packetType } from '@roundhouse/simulators';
import { TunnelDialer } from '../src/index.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { authority, material, startRig, startTarget } from './rig/tunnels.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

suite('dials', () => {
  test('BB-68: 500 dials that the agent refuses fail with its words, end their streams, and leave the session as it was', async () => {
    await using rig = await startRig();
    rig.server.behaviour = { refuse: 'dial tcp 10.0.0.1:443: connect: connection refused' };
    for (let index = 0; index < 500; index += 1) {
      await assert.rejects(rig.dialer.dial('c1:443'), {
        code: 'ERR_RH_TUNNEL_DIAL',
        reason: 'endpoint',
        message: /connect: connection refused$/,
      });
    }
    await rig.server.until(() => rig.server.open === 0, 'no stream open');
    assert.ok(rig.server.tunnels.every(({ ended }) => ended));
    assert.equal(rig.server.accepted, 1);
  });

  test('a refusal without the number of the dial is a refusal, and a yes without it is none', async () => {
    await using rig = await startRig();
    rig.server.behaviour = { silent: true };
    const first = rig.dialer.dial('c1:443');
    await rig.server.until(() => rig.server.tunnels.length === 1, 'a dial');
    rig.server.tunnel.send({ type: packetType.dialResponse, error: 'No agent available' });
    await assert.rejects(first, { code: 'ERR_RH_TUNNEL_NO_AGENT' });
    const second = rig.dialer.dial('c1:443');
    await rig.server.until(() => rig.server.tunnels.length === 2, 'a dial');
    rig.server.tunnel.send({ type: packetType.dialResponse, connectId: 9n, random: 1n });
    await assert.rejects(second, { code: 'ERR_RH_TUNNEL_PROTOCOL' });
  });

  test('a dial without an answer is over at its limit: one DIAL_CLS, and a late yes is answered by a close', async () => {
    await using rig = await startRig();
    rig.server.behaviour = { silent: true };
    const dial = rig.dialer.dial('c1:443');
    await rig.server.until(() => rig.server.tunnels.at(-1)?.received.length === 1, 'the dial');
    rig.clock.advance(10_000);
    await assert.rejects(dial, { code: 'ERR_RH_TUNNEL_DIAL_TIMEOUT', reason: 'timeout' });
    await rig.server.until(() => rig.server.tunnel.received.length === 2, 'the dial is given up');
    rig.server.tunnel.accept(9n);
    await rig.server.until(() => rig.server.tunnel.ended, 'the stream has ended');
    assert.deepEqual(rig.server.tunnel.types, [
      packetType.dialRequest,
      packetType.closeDial,
      packetType.closeRequest,
    ]);
    assert.equal(rig.server.tunnel.received[2]!.connectId, 9n);
    assert.equal(rig.dialer.inspect().lateAnswers, 1);
  });

  test('a signal gives a dial up before and after it was sent, and has no effect on a tunnel that is open', async () => {
    await using target = await startTarget((socket) => socket.pipe(socket));
    await using rig = await startRig(target.port);
    const reason = new Error('nobody wants it');
    await assert.rejects(rig.dialer.dial('c1:443', { signal: AbortSignal.abort(reason) }), reason);
    assert.equal(rig.server.accepted, 0);
    rig.server.behaviour = { silent: true };
    const controller = new AbortController();
    const dial = rig.dialer.dial('c1:443', { signal: controller.signal });
    await rig.server.until(() => rig.server.tunnels.length === 1, 'a dial');
    controller.abort(reason);
    await assert.rejects(dial, reason);
    rig.server.behaviour = {};
    const later = new AbortController();
    const tunnel = await rig.dialer.dial('c1:443', { signal: later.signal });
    later.abort(reason);
    tunnel.write('still here');
    for await (const chunk of tunnel) {
      assert.equal(String(chunk), 'still here');
      break;
    }
    tunnel.destroy();
  });

  test('100 dials at once need one session', async () => {
    await using target = await startTarget((socket) => socket.resume());
    await using rig = await startRig(target.port);
    const tunnels = await Promise.all(Array.from({ length: 100 }, async () => rig.dialer.dial('c1:443')));
    assert.equal(rig.server.accepted, 1);
    for (const tunnel of tunnels) tunnel.destroy();
    await rig.server.until(() => rig.server.open === 0, 'no stream open');
  });

  test('where one proxy-server has no agent another is asked, once', async () => {
    await using target = await startTarget((socket) => socket.resume());
    await using without = await KonnectivityServer.listen({ authority });
    await using rig = await startRig(target.port);
    await using dialer = new TunnelDialer({
      servers: [without.address, rig.server.address],
      tls: { material },
    });
    const tunnel = await dialer.dial('c1:443');
    tunnel.destroy();
    await assert.rejects(dialer.dial('c2:443'), { code: 'ERR_RH_TUNNEL_NO_AGENT' });
    assert.ok(dialer.inspect().redials >= 1);
    await dialer.destroy();
  });

  test('a cluster whose agent is dead holds its dials, and none of another cluster', async () => {
    await using rig = await startRig(0, { limits: { maxDialsPerTarget: 2 } });
    rig.server.behaviour = { silent: true };
    const dials = [rig.dialer.dial('c1:443'), rig.dialer.dial('c1:443')];
    await assert.rejects(rig.dialer.dial('c1:443'), { code: 'ERR_RH_TUNNEL_LIMIT' });
    dials.push(rig.dialer.dial('c2:443'));
    await rig.server.until(() => rig.server.tunnels.length === 3, 'three dials');
    rig.clock.advance(10_000);
    for (const dial of dials) await assert.rejects(dial, { code: 'ERR_RH_TUNNEL_DIAL_TIMEOUT' });
  });

  test('a server of another name is not trusted', async () => {
    await using rig = await startRig();
    await using named = new TunnelDialer({
      servers: [rig.server.address],
      tls: { material, serverName: 'elsewhere.test' },
    });
    await assert.rejects(named.dial('c1:443'), { code: 'ERR_RH_TUNNEL_UNTRUSTED', reason: 'streamsetup' });
  });

  test('a server that does not take our certificate says so at once, with TLS 1.3, too', async () => {
    await using rig = await startRig();
    const { ca } = material.secureContextOptions();
    await using dialer = new TunnelDialer({
      servers: [rig.server.address],
      tls: { material: { secureContextOptions: () => ({ ca }) } },
    });
    await assert.rejects(dialer.dial('c1:443'), {
      code: 'ERR_RH_TUNNEL_UNTRUSTED',
      message: /does not take our client certificate/,
    });
    assert.equal(dialer.inspect().sessionsFailed, 1);
  });

  test('what cannot be an address is refused before anything is sent', async () => {
    await using rig = await startRig();
    for (const address of [
      '',
      'c1',
      ':443',
      'c1:0',
      'c1:65536',
      'c1\r\n:443',
      'c1\0:443',
      `${'x'.repeat(5_000)}:1`,
    ]) {
      await assert.rejects(rig.dialer.dial(address), { code: 'ERR_RH_TUNNEL_ADDRESS' });
    }
    assert.equal(rig.server.accepted, 0);
  });

  test('a session that is asked to leave keeps its tunnels, and new ones go over another', async () => {
    await using target = await startTarget((socket) => socket.pipe(socket));
    await using rig = await startRig(target.port);
    const first = await rig.dialer.dial('c1:443');
    rig.server.goaway();
    await until(() => rig.dialer.inspect().goaways === 1, 'GOAWAY');
    const second = await rig.dialer.dial('c1:443');
    assert.equal(rig.server.accepted, 2);
    first.write('x');
    for await (const chunk of first) {
      assert.equal(String(chunk), 'x');
      break;
    }
    first.destroy();
    second.destroy();
    await rig.server.until(() => rig.server.sessions === 1, 'the first session is gone');
  });
});
