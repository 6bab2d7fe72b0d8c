// What real kubectl makes of deletion, events and discovery in the simulated apiserver.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeApiserver } from '@roundhouse/simulators';
import { openBench } from './kubectl-bench.ts';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';

function pathsSince(server: KubeApiserver, count: number): readonly string[] {
  return server.requests.slice(count).map(({ path }) => path.replace(/\?.*/, ''));
}

for (const minor of kubectlMinors) {
  describe(`kubectl ${minor}`, { concurrency: 2 }, async () => {
    const kubectl = await obtainKubectl(minor);

    test('finds out what is served in two requests, and asks with the tag of the answer when it asks again', async () => {
      await using bench = await openBench(kubectl);
      const { server, run } = bench;
      assert.match(await run('api-resources -o name'), /^deployments\.apps$/m);
      assert.deepEqual(pathsSince(server, 0).toSorted(), ['/api', '/apis']);
      const before = server.requests.length;
      await run('api-resources -o name');
      const again = server.requests.slice(before);
      assert.deepEqual(pathsSince(server, before).toSorted(), ['/api', '/apis']);
      for (const request of again)
        assert.match(request.headerValues('if-none-match')[0] ?? '', /^"[0-9A-F]{128}"$/);
    });

    test('deletes with --cascade=foreground what a deployment has before it, and waits', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('create deployment web --image=image:1 --replicas=2');
      await run('rollout status deployment web --timeout 10s');
      await run('delete deployment web --cascade=foreground --timeout 10s');
      assert.equal(await run('get deployments,replicasets,pods -o name'), '');
    });

    test('deletes with --cascade=orphan the deployment alone, and a new one takes its pods over', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('create deployment web --image=image:1 --replicas=2');
      await run('rollout status deployment web --timeout 10s');
      const pods = await run('get pods -o name');
      await run('delete deployment web --cascade=orphan --timeout 10s');
      assert.equal(await run('get deployments -o name'), '');
      assert.equal(await run('get pods -o name'), pods);
      const owners = await run('get replicasets -o jsonpath={.items[*].metadata.ownerReferences}');
      assert.equal(owners, '');
      await run('create deployment web --image=image:1 --replicas=2');
      await run('rollout status deployment web --timeout 10s');
      assert.equal(await run('get pods -o name'), pods);
    });

    test('shows events by kubectl events, get and describe, and a series as what it is', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('cordon alpha-node-1 alpha-node-2');
      await run('run first --image=image:1');
      await run('run second --image=image:1');
      await run(
        'wait --for=jsonpath={.series.count}=2 events --field-selector=involvedObject.name=first --timeout 10s',
      );
      const warning = /Warning +FailedScheduling +Pod\/first +0\/2 nodes are available/;
      assert.match(await run('events --types=Warning'), warning);
      assert.match(await run('events --for pod/first'), warning);
      assert.match(await run('events --for pod/first'), /\(x\d+ over/);
      assert.match(
        await run('get events.events.k8s.io --field-selector regarding.name=first'),
        /Warning +FailedScheduling +pod\/first/,
      );
      assert.match(
        await run('describe pod first'),
        /Warning +FailedScheduling +\S+ \(x\d+ over \S+\) +default-scheduler/,
      );
    });
  });
}
