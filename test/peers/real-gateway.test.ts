/** The main job on real programs all the way: real kubectls through the gateway at a real kube-apiserver. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { programsOf } from './real-cluster.ts';
import { RealStage, stageOptions } from './real-stage.ts';
import type { Person } from './real-stage.ts';

const skip = await whyNoGoPrograms(programsOf(stageOptions));

/** JSON is YAML. */
const configMap = (value: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'roundtrip', labels: { 'made-by': 'kubectl' } },
    data: { key: value },
  });

const deployment = (image: string): string => {
  const labels = { app: 'shed' };
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shed' },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
    },
  });
};

const inDefault = 'in the namespace "default"';

function cannot(user: string, verb: string, resource: string, group: string, where: string): string {
  return `User "${user}" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
}

for (const minor of kubectlMinors) {
  describe(`kubectl ${minor} through the gateway at a real kube-apiserver`, { skip: skip ?? false }, () => {
    const resources = new AsyncDisposableStack();
    let admin: Person;
    let dev: Person;
    before(async () => {
      const kubectl = await obtainKubectl(minor);
      const stage = resources.use(await RealStage.open());
      admin = stage.person(kubectl, 'admin');
      dev = stage.person(kubectl, 'dev');
    });
    after(async () => resources.disposeAsync());

    test('finds its way: version, api-resources, api-versions, explain', async () => {
      const { run } = admin;
      assert.match(await run('version'), /Server Version: v1\.\d+\.\d+/);
      assert.match(await run('api-resources'), /^deployments +deploy +apps\/v1 +true +Deployment$/m);
      assert.match(await run('api-versions'), /^apps\/v1$/m);
      assert.match(
        await run('explain deployment.spec.replicas'),
        /^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n\nFIELD: replicas <integer>\n/,
      );
    });

    test('applies, reads, describes, watches, edits and deletes', async () => {
      const { run, fail, follow } = admin;
      await using watch = await follow('get configmaps -w --no-headers');
      assert.equal(await run('apply -f -', configMap('one')), 'configmap/roundtrip created\n');
      await watch.nextLine(/^roundtrip +1 /);
      assert.equal(await run('apply -f -', configMap('one')), 'configmap/roundtrip unchanged\n');
      assert.equal(await run('apply -f -', configMap('two')), 'configmap/roundtrip configured\n');
      assert.equal(await run('get configmap roundtrip -o jsonpath={.data.key}'), 'two');
      assert.match(await run('describe configmap roundtrip'), /^Labels: +made-by=kubectl$[^]*^two$/m);
      const editor = { KUBE_EDITOR: 'sed -i s/two/three/' };
      assert.equal(await run('edit configmap roundtrip', '', editor), 'configmap/roundtrip edited\n');
      assert.equal(await run('get configmap roundtrip -o jsonpath={.data.key}'), 'three');
      assert.equal(await run('get configmaps -l made-by=kubectl -o name'), 'configmap/roundtrip\n');
      assert.match(await run('delete configmap roundtrip'), /configmap "roundtrip" deleted/);
      assert.match(await fail('get configmap roundtrip'), /configmaps "roundtrip" not found/);
    });

    test('applies on the server, with a dry run and a diff before, and scales', async () => {
      const { run } = dev;
      const inYard = '-n yard';
      assert.equal(
        await run(`apply --server-side --dry-run=server ${inYard} -f -`, deployment('shed:1')),
        'deployment.apps/shed serverside-applied (server dry run)\n',
      );
      assert.equal((await dev.try(`get deployment shed ${inYard}`)).code, 1, 'a dry run stores nothing');
      assert.equal(
        await run(`apply --server-side ${inYard} -f -`, deployment('shed:1')),
        'deployment.apps/shed serverside-applied\n',
      );
      const diff = await dev.try(`diff --server-side ${inYard} -f -`, deployment('shed:2'));
      assert.equal(diff.code, 1, diff.stderr);
      assert.match(diff.stdout, /^-.* image: shed:1\n\+.* image: shed:2$/m);
      assert.equal(
        await run(`scale deployment shed --replicas 2 ${inYard}`),
        'deployment.apps/shed scaled\n',
      );
      assert.equal(await run(`get deployment shed ${inYard} -o jsonpath={.spec.replicas}`), '2');
      assert.match(await run(`delete deployment shed ${inYard}`), /"shed" deleted/);
    });

    test('the cluster sees each caller by name and group, also one who acts as another', async () => {
      const seen = async (person: Person, flags = ''): Promise<unknown> =>
        JSON.parse(await person.run(`auth whoami${flags} -o jsonpath={.status.userInfo}`));
      assert.deepEqual(await seen(admin), { username: 'admin', groups: ['admins', 'system:authenticated'] });
      assert.deepEqual(await seen(dev), { username: 'dev', groups: ['developers', 'system:authenticated'] });
      assert.deepEqual(await seen(admin, ' --as bob --as-group developers'), {
        username: 'bob',
        groups: ['developers', 'system:authenticated'],
      });
    });

    test('auth can-i answers as the cluster does, for the caller and for whom it acts as', async () => {
      const may = async (person: Person, question: string) => {
        const { code, stdout } = await person.try(`auth can-i ${question}`);
        return [code, stdout];
      };
      assert.deepEqual(await may(dev, 'create deployments -n yard'), [0, 'yes\n']);
      assert.deepEqual(await may(dev, 'create deployments'), [1, 'no\n']);
      assert.deepEqual(await may(admin, 'create rolebindings -n yard'), [0, 'yes\n']);
      assert.deepEqual(await may(admin, 'list pods -A --as dev --as-group developers'), [1, 'no\n']);
      const everywhere = await admin.run('auth can-i --list --no-headers');
      assert.match(everywhere, /^\*\.\* +\[\] +\[\] +\[\*\]$/m);
    });

    test('what a caller may not do is refused in the words of the cluster', async () => {
      const forbidden = 'Error from server (Forbidden): ';
      assert.equal(
        await dev.fail('get pods -A'),
        `${forbidden}pods is forbidden: ${cannot('dev', 'list', 'pods', '', 'at the cluster scope')}`,
      );
      assert.equal(
        await dev.fail('apply --server-side -n default -f -', deployment('shed:1')),
        `${forbidden}deployments.apps "shed" is forbidden: ${cannot('dev', 'patch', 'deployments', 'apps', inDefault)}`,
      );
      assert.match(
        await admin.fail('get configmaps --as bob --as-group developers'),
        /configmaps is forbidden: User "bob" cannot list resource "configmaps"/,
      );
    });

    test('the gateway keeps dev from acting as somebody else, and nobody becomes a master of the cluster', async () => {
      const where = 'at the cluster scope on cluster "real"';
      assert.equal(
        await dev.fail('get pods --as admin'),
        `Error from server (Forbidden): users "admin" is forbidden: ${cannot('dev', 'impersonate', 'users', '', where)}`,
      );
      assert.match(
        await admin.fail('get pods --as admin --as-group admins --as-group system:masters'),
        /is forbidden: User "roundhouse-gateway" cannot impersonate/,
      );
    });
  });
}
