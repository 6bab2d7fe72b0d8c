// Roles and bindings as people make them with kubectl, on the simulated apiserver: what is granted counts, and is shown.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openBench } from './kubectl-bench.ts';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';

for (const minor of kubectlMinors) {
  describe(`kubectl ${minor}`, { concurrency: 2 }, async () => {
    const kubectl = await obtainKubectl(minor);

    test('makes roles and bindings, which give jane what they say and take it again', async () => {
      await using bench = await openBench(kubectl);
      const { run, fail } = bench;
      const refusal =
        'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"\n';
      assert.equal(await fail('--context jane get pods'), refusal);
      assert.equal(
        await run('create role reader --verb get,list --resource pods,pods/log'),
        'role.rbac.authorization.k8s.io/reader created\n',
      );
      assert.equal(
        await run('create rolebinding ops-read --role reader --group ops --serviceaccount default:robot'),
        'rolebinding.rbac.authorization.k8s.io/ops-read created\n',
      );
      await run('--context jane get pods');
      assert.equal((await bench.try('--context jane auth can-i watch pods')).stdout, 'no\n');
      assert.match(
        await run('get rolebindings -o wide'),
        /^NAME +ROLE +AGE +USERS +GROUPS +SERVICEACCOUNTS\nops-read +Role\/reader +\S+ +ops +default\/robot\n$/,
      );
      assert.match(await run('describe role reader'), /^ {2}pods\/log +\[\] +\[\] +\[get list\]$/m);
      assert.match(await run('describe rolebinding ops-read'), /^ {2}ServiceAccount +robot +default$/m);
      assert.equal(await run('auth can-i list pods --as system:serviceaccount:default:robot'), 'yes\n');
      assert.match(
        await run('set subject rolebinding ops-read --user bob'),
        /^rolebinding\.rbac\.authorization\.k8s\.io\/ops-read subjects updated\n$/,
      );
      assert.equal(await run('auth can-i get pods --subresource log --as bob'), 'yes\n');
      await run('delete rolebinding ops-read');
      assert.equal(await fail('--context jane get pods'), refusal);
    });

    test('reconciles a role: what is missing is added, and nothing taken away', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('create role reader --verb get --resource pods');
      const wanted = JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'reader', namespace: 'default' },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
      });
      assert.match(await run('auth reconcile -f -', wanted), /reader reconciled/);
      assert.equal(await run('get role reader -o jsonpath={.rules[*].resources}'), '["pods"] ["configmaps"]');
    });

    test('gives a cluster role in the whole cluster, and paths that are no resources', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('create clusterrole looks --verb get --non-resource-url /metrics,/debug/*');
      await run('create clusterrolebinding jane-looks --clusterrole looks --user jane');
      await run('create clusterrolebinding jane-views --clusterrole view --user jane');
      await run('--context jane get pods -A');
      assert.equal(await run('--context jane auth can-i get /debug/pprof'), 'yes\n');
      assert.match(
        await bench.fail('--context jane get secrets -A'),
        /secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" at the cluster scope\n$/,
      );
      assert.match(await run('explain rolebinding.subjects'), /^FIELD: subjects <\[\]Subject>$/m);
    });
  });
}
