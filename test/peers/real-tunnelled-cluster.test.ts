/** A real kube-apiserver that is reached through real konnectivity alone: our client, over our pool, over our tunnels. */

import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { TunnelDialer } from '@roundhouse/konnectivity';
import { Informer, KubeClient, asItCame } from '@roundhouse/kubernetes';
import type { ResourceType } from '@roundhouse/kubernetes';
import { CertificateAuthority, until } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';
import { KonnectivityPair, konnectivityPrograms } from './konnectivity-pair.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { programsOf, RealCluster } from './real-cluster.ts';
import { optionsFor } from './tunnel-targets.ts';
import { untilTrue } from './until-true.ts';

const skip = await whyNoGoPrograms([...programsOf(), ...konnectivityPrograms]);

const configMaps: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  read: asItCame,
};

const namespace = 'default';

suite('a real kube-apiserver behind real konnectivity', { skip: skip ?? false }, () => {
  const resources = new AsyncDisposableStack();
  let cluster: RealCluster;
  let pair: KonnectivityPair;
  let tunnels: TunnelDialer;
  let pool: TransportPool;

  /** The agent resolves the name; what the certificate has to be for is another one. */
  async function endpointOf({
    serverName = 'kubernetes.default.svc',
    ca = cluster.authority.certificatePem,
  } = {}): Promise<Endpoint> {
    const { certPem, keyPem } = await cluster.authority.issue({
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    const material = TlsMaterial.fromPem({ ca, cert: certPem, key: keyPem });
    const url = `https://localhost:${new URL(cluster.url).port}`;
    return Endpoint.from({ url, serverName, material, dialer: tunnels });
  }

  before(async () => {
    cluster = resources.use(await RealCluster.start());
    pair = resources.use(await KonnectivityPair.start({ hosts: ['localhost'] }));
    tunnels = resources.use(new TunnelDialer(await optionsFor(pair)));
    pool = resources.use(new TransportPool());
  });
  after(async () => resources.disposeAsync());

  const clientNamed = async (name: string): Promise<KubeClient> =>
    new KubeClient({ sender: pool.identity(name, await endpointOf()) });

  test('a thousand requests one by one and two hundred in parallel share few tunnels over one session', async () => {
    const client = await clientNamed('numbers');
    let most = 0;
    const list = async (): Promise<void> => {
      await client.list(configMaps, { namespace });
      most = Math.max(most, tunnels.inspect().open);
    };
    for (let count = 0; count < 1_000; count += 1) await list();
    await Promise.all(Array.from({ length: 200 }, list));
    assert.ok(most <= 2, `${most} tunnels at a time`);
    const { sessionsOpened, sessionsFailed } = tunnels.inspect();
    assert.deepEqual([sessionsOpened, sessionsFailed], [1, 0]);
  });

  test('the cluster inside of the tunnel is verified: its name, and who certifies it', async () => {
    const stranger = await CertificateAuthority.create();
    for (const [name, endpoint] of [
      ['other name', await endpointOf({ serverName: 'localhost.elsewhere' })],
      ['other authority', await endpointOf({ ca: stranger.certificatePem })],
    ] as const) {
      const client = new KubeClient({ sender: pool.identity(name, endpoint) });
      await assert.rejects(client.list(configMaps, { namespace }), { code: 'ERR_RH_TLS_UNTRUSTED' }, name);
    }
  });

  test('an informer goes on when the agent was killed and has come back, and has missed nothing', async () => {
    const client = await clientNamed('informer');
    const told: string[] = [];
    await using informer = Informer.open(client, configMaps, { namespace });
    await informer.synced;
    using _ = informer.subscribe({ added: ({ metadata }) => void told.push(metadata.name) });
    const create = async (name: string): Promise<void> => {
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
      const answer = await cluster.request('POST', `/api/v1/namespaces/${namespace}/configmaps`, body);
      assert.equal(answer.status, 201, await answer.text());
    };
    await create('before');
    await until(() => told.includes('before'), 'a change through the tunnel');
    await pair.killAgent();
    await create('meanwhile');
    await pair.startAgent();
    await create('afterwards');
    await until(() => told.includes('afterwards') && told.includes('meanwhile'), 'both', 30_000);
    assert.deepEqual(told.toSorted(), ['afterwards', 'before', 'meanwhile']);
  });

  test('nothing is open at server and agent when the pool has gone', async () => {
    await pool.destroy();
    await untilTrue(
      async () =>
        (await pair.serverMetric('grpc_connections{service_method="Proxy"}')) === 0 &&
        (await pair.agentMetric('open_endpoint_connections')) === 0,
      'nothing is open',
    );
    assert.equal(tunnels.inspect().open, 0);
  });
});
