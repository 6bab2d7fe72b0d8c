/** A watch ends and is asked for again, all day long: that must not cost a connection each time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificateAuthority, RecordingServer, openSocketInodes } from '@roundhouse/simulators';
import type { Exchange, HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

const rounds = 500;
const protocols = ['http/1.1', 'h2'] as const satisfies HttpProtocol[];

for (const protocol of protocols) {
  test(`BB-01: ${protocol}: ${rounds} watches that the server ends, and a GET beside each, are one transport and at most 2 handshakes`, async () => {
    const authority = await CertificateAuthority.create();
    const certificate = await authority.issue({
      commonName: 'api',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    const watched: Exchange[] = [];
    await using server = await RecordingServer.listen({
      tls: certificate,
      protocols: [protocol],
      handle: async (exchange) => {
        if (exchange.request.path !== '/watch') {
          await exchange.respond({ body: 'ok' });
          return;
        }
        watched.push(exchange);
        await exchange.writeHead(200);
        await exchange.write('{}\n');
      },
    });
    await using pool = new TransportPool();
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    await using identity = pool.identity(
      'cluster',
      Endpoint.from({ url: server.url, material, alpn: protocol }),
    );
    let socketsAfterTen = 0;
    for (let round = 1; round <= rounds; round += 1) {
      const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
      await watch.head;
      assert.equal(await Call.text(identity), 'ok');
      await watched.pop()!.end('{}\n');
      await watch.ended;
      assert.equal(watch.body, '{}\n{}\n');
      if (round === 10) {
        socketsAfterTen = openSocketInodes().size;
      }
    }
    assert.ok(server.secured <= 2, `${server.secured} handshakes`);
    assert.equal(pool.inspect().transports.length, 1);
    assert.equal(pool.inspect().totals.built, 1);
    assert.equal(openSocketInodes().size, socketsAfterTen);
    await pool.close();
    await until(() => server.open === 0, 'every connection is closed');
  });
}
