/** The main job on real input: the real kubectl on two clusters through one gateway, as `npm start` serves them. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { NpmStart } from './npm-start.ts';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';
import { KubectlStream, runKubectl } from './run-kubectl.ts';

const repository = path.join(import.meta.dirname, '..', '..');

const manifest = (value: string): string => `apiVersion: v1
kind: ConfigMap
metadata:
  name: roundtrip
  labels: {made-by: kubectl}
data:
  key: ${value}
`;

interface TransportRow {
  readonly identities: readonly string[];
  readonly connections: Readonly<Record<string, number>>;
  readonly requestsTotal: number;
}

async function transportsOf(adminUrl: string): Promise<readonly TransportRow[]> {
  const args = ['roundhouse', 'transports', '--admin', adminUrl, '-o', 'json'];
  const { stdout } = await promisify(execFile)('npx', args, { cwd: repository });
  const answer: { items: TransportRow[] } = JSON.parse(stdout);
  return answer.items;
}

for (const minor of kubectlMinors) {
  describe(`kubectl ${minor} through the gateway of npm start`, () => {
    test('gets, watches, follows, applies, describes, deletes, over one transport a cluster, and ctrl-C leaves nothing', async () => {
      const kubectl = await obtainKubectl(minor);
      await using parent = await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-demo-'));
      await using demo = await NpmStart.run(path.join(parent.path, 'demo'));
      const { kubeconfig } = demo;
      const run = async (args: string, stdin = ''): Promise<string> => {
        const result = await runKubectl(kubectl, args.split(' '), { kubeconfig, stdin });
        assert.equal(result.code, 0, `kubectl ${args}\n${result.stdout}\n${result.stderr}`);
        return result.stdout;
      };
      const fail = async (args: string): Promise<string> => {
        const result = await runKubectl(kubectl, args.split(' '), { kubeconfig });
        assert.equal(result.code, 1, `kubectl ${args}\n${result.stdout}\n${result.stderr}`);
        return result.stderr;
      };

      await run('--context alpha rollout status deploy/signals --timeout=20s');
      const pods = await run('--context alpha get pods -A -o wide');
      assert.match(pods, /^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE +IP +NODE/);
      assert.match(pods, /^default +signals-\S+ +1\/1 +Running/m);
      assert.match(
        await run('--context alpha api-resources'),
        /^deployments +deploy +apps\/v1 +true +Deployment$/m,
      );
      assert.match(await run('--context beta get deploy -A'), /^default +tickets +\d+\/\d+/m);

      await using watch = await KubectlStream.start(
        kubectl,
        ['--context', 'alpha', 'get', 'pods', '-w', '--no-headers'],
        { kubeconfig },
      );
      await watch.nextLine(/^signals-\S+ +1\/1 +Running/);
      await run('--context alpha patch deploy signals -p {"spec":{"replicas":4}}');
      await watch.nextLine(/^signals-\S+ +0\/1 +(?:Pending|ContainerCreating)/);
      await watch.nextLine(/^signals-\S+ +1\/1 +Running/);

      await using log = await KubectlStream.start(
        kubectl,
        ['--context', 'alpha', 'logs', '-f', 'deploy/signals'],
        {
          kubeconfig,
        },
      );
      const first = await log.nextLine('all quiet on alpha');
      assert.notEqual(await log.nextLine('all quiet on alpha'), first);

      assert.equal(await run('--context alpha apply -f -', manifest('one')), 'configmap/roundtrip created\n');
      assert.equal(
        await run('--context alpha apply -f -', manifest('one')),
        'configmap/roundtrip unchanged\n',
      );
      assert.equal(
        await run('--context alpha apply -f -', manifest('two')),
        'configmap/roundtrip configured\n',
      );
      assert.equal(await run('--context alpha get cm roundtrip -o jsonpath={.data.key}'), 'two');
      assert.match(
        await run('--context alpha describe cm roundtrip'),
        /^Labels: +made-by=kubectl$[^]*^two$/m,
      );
      assert.match(await run('--context alpha describe deploy signals'), /ScalingReplicaSet/);
      assert.match(await fail('--context beta get cm roundtrip'), /NotFound/);
      assert.match(await run('--context alpha delete cm roundtrip'), /configmap "roundtrip" deleted/);
      assert.match(await fail('--context alpha get cm roundtrip'), /configmaps "roundtrip" not found/);
      assert.equal(await run('--context alpha exec deploy/signals -- echo choo'), 'choo\n');

      const transports = await transportsOf(demo.adminUrl);
      assert.deepEqual(
        transports.map(({ identities }) => identities.join()).toSorted((a, b) => a.localeCompare(b)),
        ['alpha', 'beta'],
      );
      const alpha = transports.find(({ identities }) => identities.includes('alpha'));
      assert.ok((alpha?.requestsTotal ?? 0) > 30, 'alpha has served all of this');

      // Both streams are still there: nothing cut them meanwhile.
      await log.nextLine('all quiet on alpha');
      await watch.kill();
      await log.kill();
      await demo.interrupt();
      // kubectl keeps its cache beside the kubeconfig, which is not the demo's to remove.
      for (const file of ['kubeconfig', 'clusters.kubeconfig']) {
        await assert.rejects(access(path.join(demo.folder, file)), { code: 'ENOENT' });
      }
      await assert.rejects(fetch(demo.adminUrl));
      await assert.rejects(fetch(demo.gatewayUrl));
    });
  });
}
