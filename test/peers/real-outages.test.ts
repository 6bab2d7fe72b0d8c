/** A real kube-apiserver that dies and comes back, under an informer and under the gateway: nothing is lost, nothing told twice. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Informer, KubeClient, asItCame } from '@roundhouse/kubernetes';
import type { ResourceType } from '@roundhouse/kubernetes';
import { Relay, until } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';
import { obtainKubectl } from './obtain-kubectl.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { programsOf, RealCluster } from './real-cluster.ts';
import { RealStage, stageOptions } from './real-stage.ts';
import { untilTrue } from './until-true.ts';

const path = '/api/v1/namespaces/default/configmaps';
const configMaps: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  read: asItCame,
};

const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

async function tell(cluster: RealCluster, method: string, target: string, body?: unknown): Promise<void> {
  const answer = await cluster.request(method, target, body);
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${target}: ${answer.status} ${text}`);
}

const skip = await whyNoGoPrograms([...new Set([...programsOf(), ...programsOf(stageOptions)])]);

suite('a real kube-apiserver that dies', { skip: skip ?? false }, () => {
  test('an informer learns what happened while it was cut off, although the changes are no longer known', async () => {
    await using cluster = await RealCluster.start();
    const { authority, url } = cluster;
    await using relay = await Relay.listen({
      target: { host: '127.0.0.1', port: Number(new URL(url).port) },
    });
    const admin = await authority.issue({
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    const material = TlsMaterial.fromPem({
      ca: authority.certificatePem,
      cert: admin.certPem,
      key: admin.keyPem,
    });
    await using pool = new TransportPool();
    const endpoint = Endpoint.from({ url: `https://127.0.0.1:${relay.port}`, material });
    const client = new KubeClient({ sender: pool.identity('real', endpoint) });
    for (const name of ['kept', 'changed', 'removed']) await tell(cluster, 'POST', path, configMap(name));

    const told: string[] = [];
    await using informer = Informer.open(client, configMaps, { namespace: 'default' });
    await informer.synced;
    using _ = informer.subscribe({
      added: ({ metadata }) => void told.push(`added ${metadata.name}`),
      updated: ({ metadata }) => void told.push(`updated ${metadata.name}`),
      deleted: ({ metadata }) => void told.push(`deleted ${metadata.name}`),
    });
    assert.deepEqual(told.splice(0).toSorted(), ['added changed', 'added kept', 'added removed']);
    await tell(cluster, 'POST', path, configMap('seen'));
    await until(() => told.length === 1, 'a change that is watched');
    assert.deepEqual(told.splice(0), ['added seen']);

    relay.freeze();
    await tell(cluster, 'PUT', `${path}/changed`, configMap('changed', { a: '1' }));
    await tell(cluster, 'DELETE', `${path}/removed`);
    await tell(cluster, 'POST', path, configMap('new'));
    await cluster.killApiserver();
    await cluster.compact();
    await cluster.startApiserver();
    relay.thaw();
    relay.cut();
    await until(() => told.length >= 3, 'three changes that nobody watched');
    await tell(cluster, 'POST', path, configMap('last'));
    await until(() => told.length >= 4, 'a change after the outage');
    assert.deepEqual(told.toSorted(), ['added last', 'added new', 'deleted removed', 'updated changed']);
    assert.equal(told.at(-1), 'added last');
    assert.equal(informer.inspect().lists, 2, 'a watch could not tell of it');
  });

  test('the gateway says so while it is gone, and serves again within 2 s of its return', async () => {
    await using stage = await RealStage.open();
    const admin = stage.person(await obtainKubectl(), 'admin');
    await using watch = await admin.follow('get configmaps -w --no-headers');
    await tell(stage.cluster, 'POST', path, configMap('before'));
    await watch.nextLine(/^before /);
    await stage.cluster.killApiserver();
    await watch.exited;
    for (let count = 0; count < 3; count += 1)
      assert.match(
        await admin.fail('get configmaps'),
        /^Error from server \((?:BadGateway|ServiceUnavailable)\): ERR_RH_/,
      );
    await stage.cluster.startApiserver();
    // 2 s are promised, and a busy machine has four times as long.
    await untilTrue(async () => (await admin.try('get configmap before')).code === 0, 'an answer', 8_000);
  });
});
