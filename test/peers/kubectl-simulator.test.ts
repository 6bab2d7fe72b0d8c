// Real kubectl is the judge of the simulated apiserver: what it prints here is what people are used to from a cluster.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manifest, openBench } from './kubectl-bench.ts';
import type { Bench } from './kubectl-bench.ts';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';

for (const minor of kubectlMinors) {
  describe(`kubectl ${minor}`, { concurrency: 2 }, async () => {
    const kubectl = await obtainKubectl(minor);

    test('finds its way: version, api-resources, api-versions, cluster-info, whoami', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      assert.match(await run('version'), /Server Version: v1\.35\.2/);
      const resources = await run('api-resources');
      assert.match(resources, /^pods +po +v1 +true +Pod$/m);
      assert.match(resources, /^deployments +deploy +apps\/v1 +true +Deployment$/m);
      assert.deepEqual((await run('api-versions')).trim().split('\n'), [
        'apiextensions.k8s.io/v1',
        'apps/v1',
        'authentication.k8s.io/v1',
        'authorization.k8s.io/v1',
        'coordination.k8s.io/v1',
        'discovery.k8s.io/v1',
        'events.k8s.io/v1',
        'rbac.authorization.k8s.io/v1',
        'v1',
      ]);
      assert.match(await run('cluster-info'), /control plane.* is running at/);
      assert.match(
        await run('auth whoami'),
        /Username +admin\nGroups +\[system:masters system:authenticated\]/,
      );
      assert.match(
        await run('auth whoami --context jane'),
        /Username +jane\nGroups +\[dev ops system:authenticated\]/,
      );
      assert.match(
        await run('auth whoami --as bob --as-group x --as-group y --as-uid 7'),
        /Username +bob\nUID +7\nGroups +\[x y system:authenticated\]/,
      );
      assert.match(await run('get nodes'), /^alpha-node-1 +Ready +control-plane +\d+s +v1\.35\.2$/m);
    });

    test('applies: created, unchanged, configured, each field where it belongs; and rolls out', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      assert.equal(
        await run('apply -f -', manifest('nginx:1')),
        'deployment.apps/shop created\nservice/shop created\n',
      );
      assert.equal(
        await run('apply -f -', manifest('nginx:1')),
        'deployment.apps/shop unchanged\nservice/shop unchanged\n',
      );
      assert.match(await run('rollout status deployment shop --timeout 10s'), /successfully rolled out/);
      await run('set env deployment shop A- C=3');
      assert.equal(
        await run('apply -f -', manifest('nginx:2')),
        'deployment.apps/shop configured\nservice/shop unchanged\n',
      );
      const template = await run('get deployment shop -o jsonpath={.spec.template.spec.containers[0]}');
      const { image, env } = JSON.parse(template) as { image: string; env: { name: string }[] };
      assert.deepEqual([image, env.map(({ name }) => name)], ['nginx:2', ['A', 'B', 'C']]);
      assert.match(await run('rollout status deployment shop --timeout 10s'), /successfully rolled out/);
      assert.match(
        await run('get deployment shop -o wide'),
        /^shop +2\/2 +2 +2 +\S+ +main +nginx:2 +app=shop$/m,
      );
      assert.match(
        await run('get pods -A -o wide'),
        /^default +shop-\w+-\w+ +1\/1 +Running +0 +\S+ +10\.244\.\S+ +alpha-node-\d +<none> +<none>$/m,
      );
      assert.equal(await run('delete deployment shop'), await deletedText(run, 'deployment.apps "shop"'));
    });

    test('describes pods, deployments, services, nodes and namespaces with their events', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('apply -f -', manifest('nginx:1'));
      await run('rollout status deployment shop --timeout 10s');
      const pod = await run('describe pods -l app=shop');
      assert.match(pod, /Status: +Running/);
      assert.match(pod, /Controlled By: +ReplicaSet\/shop-/);
      assert.match(pod, /Normal +Scheduled +\S+ +default-scheduler +Successfully assigned default\/shop-/);
      assert.match(pod, /Normal +Started +\S+ +kubelet +/);
      assert.match(
        await run('describe deployment shop'),
        /2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable/,
      );
      assert.match(
        await run('describe service shop'),
        /Endpoints: +10\.244\.\d+\.\d+:80,10\.244\.\d+\.\d+:80/,
      );
      assert.match(await run('describe node alpha-node-2'), /Ready +True .*KubeletReady/);
      assert.match(await run('describe namespace default'), /Status: +Active/);
      assert.match(
        await run('get events'),
        /Normal +ScalingReplicaSet +deployment\/shop +Scaled up replica set shop-\w+ from 0 to 2/,
      );
    });

    test('watches pods come and go', async () => {
      await using bench = await openBench(kubectl);
      const { run, follow } = bench;
      await run('create configmap settings --from-literal a=b');
      await using watch = await follow('get pods -w');
      await run('run web --image nginx');
      await watch.nextLine(/^web +1\/1 +Running/);
      const deletion = run('delete pod web');
      await watch.nextLine(/^web +1\/1 +Terminating/);
      assert.equal(await deletion, await deletedText(run, 'pod "web"'));
      assert.match(await bench.fail('get pod web'), /pods "web" not found/);
    });

    test('follows a log as it is written, to the end of its pod', async () => {
      await using bench = await openBench(kubectl);
      const { run, follow, server } = bench;
      await run('run web --image nginx');
      await run('wait --for=condition=Ready pod/web --timeout 10s');
      server.appendLog({ name: 'web' }, 'first');
      server.appendLog({ name: 'web' }, 'second');
      assert.equal(await run('logs web'), 'first\nsecond\n');
      assert.equal(await run('logs web --tail 1'), 'second\n');
      await using log = await follow('logs -f web');
      await log.nextLine('second');
      server.appendLog({ name: 'web' }, 'third');
      await log.nextLine('third');
      await run('delete pod web');
      assert.equal((await log.exited).code, 0);
    });

    test('creates, patches, labels, edits and deletes', async () => {
      await using bench = await openBench(kubectl);
      const { run, fail } = bench;
      assert.equal(await run('create configmap settings --from-literal a=1'), 'configmap/settings created\n');
      assert.match(
        await fail('create configmap settings --from-literal a=1'),
        /configmaps "settings" already exists/,
      );
      assert.equal(await run('create secret generic word --from-literal a=b'), 'secret/word created\n');
      assert.equal(await run('get secret word -o jsonpath={.data.a}'), 'Yg==');
      assert.equal(
        await run('create deployment made --image nginx --replicas 0'),
        'deployment.apps/made created\n',
      );
      assert.equal(await run('create namespace shop'), 'namespace/shop created\n');
      assert.equal(await run('create serviceaccount robot'), 'serviceaccount/robot created\n');
      assert.equal(await run('create service clusterip plain --tcp 80:80'), 'service/plain created\n');
      await run('patch configmap settings -p {"data":{"b":"2"}}');
      await run('patch configmap settings --type merge -p {"data":{"a":null}}');
      await run('patch configmap settings --type json -p [{"op":"add","path":"/data/c","value":"3"}]');
      await run('label configmap settings tier=front');
      await run('annotate configmap settings note=kept');
      const yaml = await run('get configmap settings -o yaml');
      assert.match(yaml, /^data:\n {2}b: "2"\n {2}c: "3"\nkind: ConfigMap$/m);
      assert.match(yaml, /annotations:\n {4}note: kept/);
      assert.equal(await run('get configmaps -l tier=front -o name'), 'configmap/settings\n');
      assert.equal(
        await run('get configmaps --field-selector metadata.name=settings -o name'),
        'configmap/settings\n',
      );
      assert.match(
        await fail('get configmaps --field-selector data.a=1'),
        /field label not supported: data.a/,
      );
      assert.equal(await run('delete namespace shop'), 'namespace "shop" deleted\n');
      assert.match(await fail('get namespace shop'), /not found/);
    });

    test('reads a list in chunks', async () => {
      await using bench = await openBench(kubectl);
      const { run, server } = bench;
      for (let number = 0; number < 7; number += 1) {
        server.store.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `part-${number}` } });
      }
      const names = (await run('get configmaps --chunk-size 3 -o name')).trim().split('\n');
      assert.equal(names.length, 7);
      const lists = server.requests.filter(({ path: target }) =>
        target.startsWith('/api/v1/namespaces/default/configmaps?'),
      );
      assert.equal(lists.length, 3);
    });
  });
}

/** Newer versions name the namespace. */
async function deletedText(run: Bench['run'], what: string): Promise<string> {
  const newer = /GitVersion|v1\.3[4-9]/.test(await run('version --client'));
  return `${what} deleted${newer ? ' from default namespace' : ''}\n`;
}
