// What people do with kubectl every day, on the simulated apiserver, word for word as on a cluster.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { manifest, openBench } from './kubectl-bench.ts';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';

for (const minor of kubectlMinors) {
  describe(`kubectl ${minor}`, { concurrency: 2 }, async () => {
    const kubectl = await obtainKubectl(minor);

    test('scales, and only when the number is the expected one', async () => {
      await using bench = await openBench(kubectl);
      const { run, fail } = bench;
      await run('apply -f -', manifest('nginx:1'));
      assert.equal(await run('scale deployment shop --replicas 3'), 'deployment.apps/shop scaled\n');
      assert.match(
        await fail('scale deployment shop --current-replicas 7 --replicas 1'),
        /Expected replicas to be 7, was 3/,
      );
      await run('rollout status deployment shop --timeout 10s');
      assert.equal(await run('get deployment shop -o jsonpath={.status.readyReplicas}'), '3');
      assert.equal(
        await run('get deployment shop --subresource scale -o jsonpath={.status.selector}'),
        'app=shop',
      );
    });

    test('rolls out, remembers revisions with their causes, restarts, pauses and goes back', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      const settled = async () =>
        assert.match(await run('rollout status deployment shop --timeout 10s'), /successfully rolled out/);
      await run('apply -f -', manifest('nginx:1'));
      await settled();
      await run('set image deployment/shop main=nginx:2');
      await run('annotate deployment shop kubernetes.io/change-cause=second');
      await settled();
      assert.equal(
        await run('rollout history deployment shop'),
        'deployment.apps/shop \nREVISION  CHANGE-CAUSE\n1         <none>\n2         second\n\n',
      );
      assert.match(await run('rollout history deployment shop --revision 1'), /Image:\tnginx:1\n/);
      assert.equal(await run('rollout restart deployment shop'), 'deployment.apps/shop restarted\n');
      await settled();
      assert.equal(
        await run('rollout undo deployment shop --to-revision 1'),
        'deployment.apps/shop rolled back\n',
      );
      await settled();
      assert.match(await run('rollout history deployment shop'), /^2 +second\n3 +second\n4 +\S+\n\n$/m);
      assert.equal(await run('rollout pause deployment shop'), 'deployment.apps/shop paused\n');
      await run('set image deployment/shop main=nginx:9');
      assert.equal(await run('rollout resume deployment shop'), 'deployment.apps/shop resumed\n');
      await settled();
      assert.match(await run('get deployment shop -o wide'), /nginx:9/);
    });

    test('shows what a write would do, and does none of it: diff and --dry-run=server', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('apply -f -', manifest('nginx:1'));
      const diff = await bench.try('diff -f -', manifest('nginx:2'));
      assert.equal(diff.code, 1, diff.stderr);
      assert.match(diff.stdout, /^- +image: nginx:1\n\+ +image: nginx:2$/m);
      assert.equal((await bench.try('diff -f -', manifest('nginx:1'))).code, 0);
      for (const command of [
        'create configmap made --from-literal a=b',
        'scale deployment shop --replicas 9',
        'label deployment shop tier=front',
        'set image deployment/shop main=nginx:7',
        'delete service shop',
      ])
        assert.match(await run(`${command} --dry-run=server`), /\(server dry run\)|\(dry run\)/);
      assert.equal(
        await run('apply --dry-run=server -f -', manifest('nginx:2')),
        'deployment.apps/shop configured (server dry run)\nservice/shop unchanged (server dry run)\n',
      );
      await run('get service shop');
      assert.match(await bench.fail('get configmap made'), /not found/);
      assert.equal(
        await run(
          'get deployment shop -o jsonpath={.spec.replicas},{.spec.template.spec.containers[0].image}',
        ),
        '2,nginx:1',
      );
    });

    test('applies on the server: over what was applied before, with conflicts told and forced', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('apply -f -', manifest('nginx:1'));
      assert.equal(
        await run('apply --server-side -f -', manifest('nginx:1')),
        'deployment.apps/shop serverside-applied\nservice/shop serverside-applied\n',
      );
      const managers = async () =>
        run('get deployment shop --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}');
      assert.doesNotMatch(await managers(), /kubectl-client-side-apply/);
      const other = 'apply --server-side --field-manager other -f -';
      const conflict = await bench.try(other, manifest('nginx:2'));
      assert.match(
        conflict.stderr,
        /Apply failed with 1 conflict: conflict with "kubectl": \.spec\.template\.spec\.containers\[name="main"\]\.image\n/,
      );
      await run(other.replace('other', 'other --force-conflicts'), manifest('nginx:2'));
      assert.match(await managers(), /\bother\b/);
      const mine = await bench.try('apply --server-side -f -', manifest('nginx:1'));
      assert.match(mine.stderr, /conflict with "other": /);
      const diff = await bench.try('diff --server-side --force-conflicts -f -', manifest('nginx:1'));
      assert.match(diff.stdout, /^- +image: nginx:2\n\+ +image: nginx:1$/m);
    });

    test('refuses fields that do not exist, or warns of them', async () => {
      await using bench = await openBench(kubectl);
      const odd = JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'odd' },
        date: { a: 'b' },
      });
      assert.match(await bench.fail('apply -f -', odd), /strict decoding error: unknown field "date"/);
      assert.match(await bench.fail('apply --server-side -f -', odd), /\.date: field not declared in schema/);
      const warned = await bench.try('apply --validate=warn -f -', odd);
      assert.deepEqual(
        [warned.stderr, warned.stdout],
        ['Warning: unknown field "date"\n', 'configmap/odd created\n'],
      );
    });

    test('explains kinds and their fields', async () => {
      await using bench = await openBench(kubectl);
      const { run, fail } = bench;
      const containers = await run('explain pod.spec.containers');
      assert.match(containers, /^KIND: +Pod\nVERSION: +v1\n\nFIELD: containers <\[\]Container>\n/);
      assert.match(containers, /^ {2}name\t<string> -required-$/m);
      const spec = await run('explain deployment.spec --recursive');
      assert.match(spec, /^ {2}template\t<PodTemplateSpec> -required-\n {4}metadata\t<ObjectMeta>$/m);
      assert.match(spec, /^ {10}containerPort\t<integer> -required-$/m);
      for (const kind of ['service', 'configmap', 'node', 'lease', 'event', 'replicaset'])
        assert.match(await run(`explain ${kind}`), /^FIELDS:$/m, kind);
      assert.match(await fail('explain pod.spec.nothing'), /field "nothing" does not exist/);
    });

    test('edits with the editor of the environment, and takes no field that does not exist', async () => {
      await using bench = await openBench(kubectl);
      const { run } = bench;
      await run('apply -f -', manifest('nginx:1'));
      const edit = async (script: string) =>
        run('edit deployment shop', undefined, { KUBE_EDITOR: `sed -i ${script}` });
      assert.equal(await edit('s/nginx:1/nginx:2/'), 'deployment.apps/shop edited\n');
      assert.match(await run('get deployment shop -o wide'), /nginx:2/);
      await assert.rejects(edit('s/progressDeadlineSeconds/progressDeadline/'), /is invalid/);
      assert.match(await run('get deployment shop -o yaml'), /progressDeadlineSeconds: 600/);
    });

    test('takes kinds of its own: defined, waited for, explained, listed, scaled, and gone again', async () => {
      await using bench = await openBench(kubectl);
      const { run, fail } = bench;
      await run('apply -f -', widgets);
      await run('wait --for=condition=Established crd/widgets.example.com --timeout 10s');
      assert.match(await run('explain widget.spec'), /^ {2}image\t<string> -required-\n {4}What it runs\.$/m);
      const widget = (image: string) =>
        JSON.stringify({
          apiVersion: 'example.com/v1',
          kind: 'Widget',
          metadata: { name: 'first' },
          spec: { image },
        });
      assert.equal(await run('apply -f -', widget('one')), 'widget.example.com/first created\n');
      assert.equal(await run('apply -f -', widget('two')), 'widget.example.com/first configured\n');
      assert.match(await fail('apply -f -', widget('TWO')), /spec\.image in body should match/);
      assert.match(await run('get wd'), /^NAME +IMAGE +AGE\nfirst +two +\d+s$/m);
      assert.match(await run('get things -o wide'), /^first +two +1 +\d+s$/m);
      assert.equal(await run('scale widget first --replicas 3'), 'widget.example.com/first scaled\n');
      assert.equal(await run('get widget first -o jsonpath={.spec.replicas}'), '3');
      assert.match(
        await run('api-resources --api-group example.com'),
        /^widgets +wd +example\.com\/v1 +true +Widget$/m,
      );
      assert.match(await run('delete crd widgets.example.com'), /deleted/);
      assert.match(await fail('get wd'), /could not find the requested resource/);
    });
  });
}

const widgets = JSON.stringify({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'], categories: ['things'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
        },
        additionalPrinterColumns: [
          { name: 'Image', type: 'string', jsonPath: '.spec.image' },
          { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['image'],
                properties: {
                  image: { type: 'string', pattern: '^[a-z]+$', description: 'What it runs.' },
                  replicas: { type: 'integer', default: 1 },
                },
              },
            },
          },
        },
      },
    ],
  },
});
