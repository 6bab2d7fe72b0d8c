/** A socket that is paused and has nothing to send learns nothing of a reset by itself. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { CertificateAuthority, UpgradeServer } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

const cutting = { drainTimeoutMs: 1 };
const authority = await CertificateAuthority.create();
const tls = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], usage: 'server' });
const material = TlsMaterial.fromPem({ ca: authority.certificatePem });

for (const kind of ['plain', 'TLS'] as const) {
  test(`BB-38: ${kind}: a reset is found by a look also while nothing is read, and a look sends nothing`, async () => {
    await using server = await UpgradeServer.listen({
      ...(kind === 'TLS' && { tls }),
      answer: (connection) => {
        void connection.write(connection.switchingHead());
        void connection.write(Buffer.alloc(4_000_000));
      },
    });
    await using pool = new TransportPool({ limits: cutting });
    const answer = await pool
      .identity('cluster', Endpoint.from({ url: server.url, ...(kind === 'TLS' && { material }) }))
      .upgrade({ method: 'POST', path: '/exec', protocol: 'SPDY/3.1', headers: [] });
    assert.ok(answer.switched);
    const { socket, look } = answer;
    const connection = await server.head();
    socket.once('data', () => socket.pause());
    await once(socket, 'data');
    look();
    socket.write('heard');
    await server.until(
      () => connection.bytes === 5,
      () => 'what was sent after the look',
    );
    connection.reset();
    const failed = once(socket, 'error');
    await server.waitForOpen(0);
    assert.equal(socket.destroyed, false, 'nobody has noticed');
    look();
    const [error]: unknown[] = await failed;
    assert.equal(Reflect.get(Object(error), 'code'), 'ECONNRESET');
    await until(() => pool.inspect().totals.upgrades === 0, 'the upgrade left the pool');
  });
}
