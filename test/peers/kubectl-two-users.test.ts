/** Daily work through the gateway of `npm start`, as its two callers: each does what it may, and reads why it may not do the rest. */

import assert from 'node:assert/strict';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { NpmStart } from './npm-start.ts';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';
import type { KubectlMinor } from './obtain-kubectl.ts';
import { runKubectl } from './run-kubectl.ts';
import type { KubectlResult } from './run-kubectl.ts';

type Environment = Readonly<Record<string, string>>;

/** One user of the demo, at one of its clusters. */
interface Caller {
  readonly try: (args: string, stdin?: string, environment?: Environment) => Promise<KubectlResult>;
  /** Standard output of a kubectl that must succeed. */
  readonly run: (args: string, stdin?: string, environment?: Environment) => Promise<string>;
  /** Standard error of a kubectl that must fail, without `Error from server (Forbidden): `. */
  readonly refused: (args: string, stdin?: string) => Promise<string>;
}

interface Stage extends AsyncDisposable {
  readonly admin: Caller;
  readonly dev: Caller;
  readonly devAtBeta: Caller;
}

async function openStage(minor: KubectlMinor): Promise<Stage> {
  await using resources = new AsyncDisposableStack();
  const kubectl = await obtainKubectl(minor);
  const parent = resources.use(await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-users-')));
  const { kubeconfig } = resources.use(await NpmStart.run(path.join(parent.path, 'demo')));
  const callerWith = (flags: string): Caller => {
    const attempt = async (args: string, stdin = '', environment: Environment = {}) =>
      runKubectl(kubectl, `${flags} ${args}`.split(' '), { kubeconfig, stdin, environment });
    return {
      try: attempt,
      run: async (args, stdin, environment) => {
        const { code, stdout, stderr } = await attempt(args, stdin, environment);
        assert.equal(code, 0, `kubectl ${args}\n${stdout}\n${stderr}`);
        return stdout;
      },
      refused: async (args, stdin) => {
        const { code, stdout, stderr } = await attempt(args, stdin);
        assert.equal(code, 1, `kubectl ${args}\n${stdout}\n${stderr}`);
        return stderr.replace('Error from server (Forbidden): ', '').trimEnd();
      },
    };
  };
  const owned = resources.move();
  return {
    admin: callerWith('--context alpha'),
    dev: callerWith('--context alpha-dev'),
    devAtBeta: callerWith('--context beta --user dev'),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

/** JSON is YAML. */
function shed(image: string): string {
  const labels = { app: 'shed' };
  return JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shed' },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
    },
  });
}

function cannot(verb: string, resource: string, group: string, where: string): string {
  return `User "dev" cannot ${verb} resource "${resource}" in API group "${group}" ${where}`;
}

const inDefault = 'in the namespace "default"';

/** The table of `auth can-i --list`, by resource or path: names and verbs. */
async function rights(caller: Caller, flags = ''): Promise<ReadonlyMap<string, string>> {
  const table = await caller.run(`auth can-i --list --no-headers${flags}`);
  const rows = table.trimEnd().split('\n');
  return new Map(
    rows.map((row) => {
      const [, resource = '', paths = '', names = '', verbs = ''] =
        /^(\S*) +\[(.*)\] +\[(.*)\] +\[(.*)\]$/.exec(row) ?? assert.fail(row);
      return [resource || paths, `${names}: ${verbs}`];
    }),
  );
}

const everybody = new Map([
  ['selfsubjectreviews.authentication.k8s.io', ': create'],
  ['selfsubjectaccessreviews.authorization.k8s.io', ': create'],
  ['selfsubjectrulesreviews.authorization.k8s.io', ': create'],
  ...['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'].map((url) => [url, ': get'] as const),
  ...['/healthz', '/livez', '/readyz', '/version', '/version/'].map((url) => [url, ': get'] as const),
]);

for (const minor of kubectlMinors) {
  describe(`kubectl ${minor} as the two callers of npm start`, async () => {
    const stage = await openStage(minor);
    const { admin, dev, devAtBeta } = stage;
    after(async () => stage[Symbol.asyncDispose]());

    test('the cluster sees each by name and group, through the gateway', async () => {
      const seen = async (caller: Caller, flags = '') =>
        caller.run(`auth whoami${flags} -o jsonpath={.status.userInfo}`);
      assert.equal(await seen(admin), '{"groups":["admins","system:authenticated"],"username":"admin"}');
      assert.equal(await seen(dev), '{"groups":["developers","system:authenticated"],"username":"dev"}');
      assert.equal(
        await seen(admin, ' --as dev --as-group developers'),
        '{"groups":["developers","system:authenticated"],"username":"dev"}',
      );
      assert.match(
        await dev.run('auth whoami'),
        /^Username +dev\nGroups +\[developers system:authenticated\]$/m,
      );
    });

    test('auth can-i lists what each may: everything; one namespace; and elsewhere what everybody may', async () => {
      const all = await rights(admin);
      assert.deepEqual([all.get('*.*'), all.get('*')], [': *', ': *']);
      const inYard = await rights(dev);
      const write = 'create delete deletecollection patch update';
      const expected = [
        ['deployments.apps', `: ${write} get list watch`],
        ['deployments.apps/scale', `: ${write} get list watch`],
        ['deployments.apps/status', ': get list watch'],
        ['pods', `: ${write} get list watch`],
        ['pods/log', ': get list watch'],
        ['pods/exec', `: get list watch ${write}`],
        ['secrets', `: get list watch ${write}`],
        ['serviceaccounts', `: impersonate ${write} get list watch`],
        ['namespaces', ': get list watch'],
        ['nodes', undefined],
        ['roles.rbac.authorization.k8s.io', undefined],
      ] as const;
      assert.deepEqual(
        expected.map(([resource]) => [resource, inYard.get(resource)]),
        expected,
      );
      assert.deepEqual(await rights(dev, ' -n default'), everybody);
    });

    test('auth can-i answers by its exit code', async () => {
      const may = async (caller: Caller, question: string) => {
        const { code, stdout } = await caller.try(`auth can-i ${question}`);
        return [code, stdout];
      };
      for (const question of ['create deployments', 'get pods --subresource=log', 'patch deploy/shed'])
        assert.deepEqual(await may(dev, question), [0, 'yes\n'], question);
      for (const question of [
        'create deployments -n default',
        'list pods -A',
        'create rolebindings',
        'get /metrics',
      ])
        assert.deepEqual(await may(dev, question), [1, 'no\n'], question);
      assert.deepEqual(await may(admin, 'create rolebindings -n yard'), [0, 'yes\n']);
      assert.deepEqual(await may(admin, 'list pods -A --as dev --as-group developers'), [1, 'no\n']);
    });

    test('apply --server-side, diff, --dry-run=server, scale, edit and rollout status: in yard as dev, in default as admin', async () => {
      for (const caller of [dev, admin]) {
        const { run } = caller;
        assert.equal(
          await run('apply --server-side --dry-run=server -f -', shed('shed:1')),
          'deployment.apps/shed serverside-applied (server dry run)\n',
        );
        assert.equal((await caller.try('get deployment shed')).code, 1, 'a dry run stores nothing');
        assert.equal(
          await run('apply --server-side -f -', shed('shed:1')),
          'deployment.apps/shed serverside-applied\n',
        );
        const diff = await caller.try('diff --server-side -f -', shed('shed:2'));
        assert.equal(diff.code, 1, diff.stderr);
        assert.match(diff.stdout, /^-.* image: shed:1\n\+.* image: shed:2$/m);
        assert.equal((await caller.try('diff --server-side -f -', shed('shed:1'))).code, 0);
        assert.equal(await run('scale deployment shed --replicas 2'), 'deployment.apps/shed scaled\n');
        const editor = { KUBE_EDITOR: 'sed -i s/shed:1/shed:3/' };
        assert.equal(await run('edit deployment shed', '', editor), 'deployment.apps/shed edited\n');
        assert.match(
          await run('rollout status deployment shed --timeout 25s'),
          /deployment "shed" successfully rolled out\n$/,
        );
        assert.equal(
          await run(
            'get deployment shed -o jsonpath={.status.readyReplicas},{.spec.template.spec.containers[0].image}',
          ),
          '2,shed:3',
        );
        assert.match(
          await run('explain deployment.spec.replicas'),
          /^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n\nFIELD: replicas <integer>\n/,
        );
      }
    });

    test('what dev may not do outside of yard is refused by alpha, in its words, and nothing is changed', async () => {
      const { refused } = dev;
      const signals = 'deployments.apps "signals" is forbidden: ';
      assert.equal(
        await refused('apply --server-side -n default -f -', shed('shed:9')),
        `deployments.apps "shed" is forbidden: ${cannot('patch', 'deployments', 'apps', inDefault)}`,
      );
      assert.match(
        await refused('apply --server-side --dry-run=server -n default -f -', shed('shed:9')),
        /cannot patch resource "deployments"/,
      );
      assert.equal(
        await refused('edit deployment signals -n default'),
        `${signals}${cannot('get', 'deployments', 'apps', inDefault)}`,
      );
      const scale = await refused('scale deployment signals --replicas 9 -n default');
      // 1.32 puts `no objects passed to scale` before it.
      assert.ok(scale.endsWith(`${signals}${cannot('get', 'deployments', 'apps', inDefault)}`), scale);
      assert.equal(
        await refused('rollout status deployment signals -n default'),
        `${signals}${cannot('get', 'deployments', 'apps', inDefault)}`,
      );
      assert.equal(
        await refused('get pods -A'),
        `pods is forbidden: ${cannot('list', 'pods', '', 'at the cluster scope')}`,
      );
      assert.equal(
        await refused('delete namespace yard'),
        `namespaces "yard" is forbidden: ${cannot('delete', 'namespaces', '', 'in the namespace "yard"')}`,
      );
      const diff = await dev.try('diff -n default -f -', shed('shed:9'));
      const why = `deployments.apps "shed" is forbidden: ${cannot('get', 'deployments', 'apps', inDefault)}`;
      assert.deepEqual(
        [diff.code, diff.stdout, diff.stderr],
        [2, '', `Error from server (Forbidden): ${why}\n`],
        'not the 1 that tells of a difference',
      );
      assert.equal(
        await admin.run('get deployment shed -o jsonpath={.spec.template.spec.containers[0].image}'),
        'shed:3',
      );
    });

    test('the gateway keeps dev out of beta, and from acting as somebody else', async () => {
      assert.equal(
        await devAtBeta.refused('get pods'),
        `pods is forbidden: ${cannot('list', 'pods', '', `${inDefault} on cluster "beta"`)}`,
      );
      const asAdmin = cannot('impersonate', 'users', '', 'at the cluster scope on cluster "alpha"');
      assert.equal(await dev.refused('get pods --as admin'), `users "admin" is forbidden: ${asAdmin}`);
    });

    test('nobody becomes a master of the cluster: the gateway itself may not act as one', async () => {
      assert.equal(
        await admin.refused('get pods --as admin --as-group admins --as-group system:masters'),
        'groups "system:masters" is forbidden: User "roundhouse-gateway" cannot impersonate resource "groups" in API group "" at the cluster scope',
      );
    });
  });
}
