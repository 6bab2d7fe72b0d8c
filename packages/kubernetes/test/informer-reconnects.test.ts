/** Informers go over the connections of their identity, however often a watch ends and however many informers come and go. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CertificateAuthority,
  RecordingServer,
  ResourceBaseline,
  openSocketInodes,
  until,
} from '@roundhouse/simulators';
import type { Exchange, HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';
import { Informer, KubeClient } from '../src/index.ts';
import { Cluster, configMap, configMaps } from './rig/cluster.ts';

const rounds = 500;
const protocols = ['http/1.1', 'h2'] as const satisfies HttpProtocol[];

for (const protocol of protocols) {
  test(`BB-01: ${protocol}: an informer whose watch the server ends ${rounds} times, and a GET beside each, are one transport and at most 2 handshakes`, async () => {
    await using _baseline = ResourceBaseline.take();
    const authority = await CertificateAuthority.create();
    const certificate = await authority.issue({
      commonName: 'api',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    const watched: Exchange[] = [];
    let version = 1;
    await using server = await RecordingServer.listen({
      tls: certificate,
      protocols: [protocol],
      handle: async (exchange) => {
        const { path } = exchange.request;
        if (path.includes('watch=true')) {
          assert.ok(path.includes(`resourceVersion=${version}`), `${path} is not from ${version} on`);
          watched.push(exchange);
          await exchange.writeHead(200);
          return;
        }
        const object = { ...configMap('one'), metadata: { name: 'one', resourceVersion: '1' } };
        const list = { kind: 'List', metadata: { resourceVersion: '1' }, items: [object] };
        await exchange.respond({ body: JSON.stringify(path.includes('limit=') ? list : object) });
      },
    });
    await using pool = new TransportPool();
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    const sender = pool.identity('cluster', Endpoint.from({ url: server.url, material, alpn: protocol }));
    const client = new KubeClient({ sender });
    await using informer = Informer.open(client, configMaps);
    let updates = 0;
    using _told = informer.subscribe({ updated: () => void (updates += 1) });
    let socketsAfterTen = 0;
    for (let round = 1; round <= rounds; round += 1) {
      await until(() => watched.length === 1, `watch ${round}`);
      await client.get(configMaps, { name: 'one', namespace: 'default' });
      version += 1;
      const object = { ...configMap('one'), metadata: { name: 'one', resourceVersion: String(version) } };
      await watched.pop()!.end(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
      if (round === 10) {
        socketsAfterTen = openSocketInodes().size;
      }
    }
    await until(() => updates === rounds, 'every change was told');
    assert.ok(server.secured <= 2, `${server.secured} handshakes`);
    assert.equal(informer.inspect().lists, 1);
    assert.equal(pool.inspect().totals.built, 1);
    assert.equal(openSocketInodes().size, socketsAfterTen);
    await informer.close();
    await pool.close();
  });
}

test('BB-09: of 1,000 informers, each with an identity and a client of its own, nothing is left behind', async () => {
  await using _baseline = ResourceBaseline.take();
  await using cluster = await Cluster.open({ keepRecords: 100 });
  cluster.put('one');
  const { endpoint } = cluster.identity;
  assert.ok(endpoint !== undefined);
  const one = async (): Promise<void> => {
    await using identity = cluster.pool.identity('one of many', endpoint);
    await using informer = Informer.open(new KubeClient({ sender: identity }), configMaps);
    informer.subscribe({});
    await informer.synced;
    await until(() => identity.inFlight === 1, 'a watch');
  };
  for (let batch = 0; batch < 100; batch += 1) {
    await Promise.all(Array.from({ length: 10 }, one));
  }
  assert.deepEqual(
    [cluster.pool.inspect().totals.identities, cluster.pool.inspect().transports.length],
    [1, 1],
  );
  await until(() => cluster.pool.inspect().transports[0]?.streams === 0, 'no stream is left');
  assert.ok(cluster.apiserver.accepted <= 2, `${cluster.apiserver.accepted} connections`);
});
