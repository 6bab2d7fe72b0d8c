import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { getJson, openGet, readKubeconfig } from './demo-client.ts';
import { openFolder, startDemo } from './running-demo.ts';

async function names(folder: string, context: string, path: string): Promise<string[]> {
  const { body } = await getJson(folder, context, path);
  return (body.items ?? []).map(({ metadata }) => metadata.name);
}

async function openWatch(folder: string): Promise<IncomingMessage> {
  const response = await openGet(folder, 'alpha', '/api/v1/pods?watch=true');
  response.on('error', () => {});
  response.resume();
  return response;
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

suite('the demo', () => {
  test('serves alpha and beta under the kubeconfig that it writes, and says what to try', async () => {
    await using folder = await openFolder();
    await using demo = await startDemo(folder.path);
    const { contexts } = await readKubeconfig(folder.path);
    assert.deepEqual(
      contexts.map(({ name, context }) => [name, context.cluster, context.user, context.namespace]),
      [
        ['alpha', 'alpha', 'admin', undefined],
        ['beta', 'beta', 'admin', undefined],
        ['alpha-dev', 'alpha', 'dev', 'yard'],
      ],
    );
    const deployments = '/apis/apps/v1/deployments';
    assert.deepEqual(await names(folder.path, 'alpha', deployments), ['signals', 'timetable', 'turntable']);
    assert.deepEqual(await names(folder.path, 'beta', deployments), ['tickets', 'manifest']);
    for (const file of await readdir(folder.path)) {
      assert.equal((await stat(join(folder.path, file))).mode & 0o777, 0o600, file);
    }
    assert.match(demo.output(), /kubectl --context alpha get pods -A -w/);
    assert.match(demo.output(), new RegExp(`npx roundhouse transports --admin ${demo.adminUrl}`));
    assert.ok(!demo.output().includes('\u001b'), 'no colour in a pipe');
  });

  test('the administrator may do everything; the developer is let into one namespace of alpha, and out of beta', async () => {
    await using folder = await openFolder();
    await using demo = await startDemo(folder.path);
    const deployments = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments`;
    assert.deepEqual(await names(folder.path, 'alpha-dev', deployments('yard')), ['timetable', 'turntable']);
    const refusal = async (context: string, path: string, user?: string) => {
      const { status, body } = await getJson(folder.path, context, path, user);
      return [status, body.message];
    };
    const cannot = (what: string, where: string) =>
      `${what} is forbidden: User "dev" cannot list resource "${what.split('.')[0]}" in API group "${what.includes('.') ? 'apps' : ''}" ${where}`;
    assert.deepEqual(await refusal('alpha-dev', deployments('default')), [
      403,
      cannot('deployments.apps', 'in the namespace "default"'),
    ]);
    assert.deepEqual(await refusal('alpha-dev', '/api/v1/nodes'), [
      403,
      cannot('nodes', 'at the cluster scope'),
    ]);
    assert.deepEqual(await refusal('beta', '/api/v1/pods', 'dev'), [
      403,
      cannot('pods', 'at the cluster scope on cluster "beta"'),
    ]);
    assert.equal((await refusal('alpha', '/version', ''))[0], 401);
    assert.match(demo.output(), /kubectl --context alpha-dev /);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // That its ports are free needs no look: the process is gone, and others may have taken them by then.
    test(`${signal} ends it in order, open watches or not: exit 0, and no file is left`, async () => {
      await using folder = await openFolder();
      await using demo = await startDemo(folder.path);
      const watch = await openWatch(folder.path);
      demo.kill(signal);
      assert.deepEqual(await demo.exit, { code: 0, signal: null }, demo.output());
      assert.ok(watch.closed || watch.destroyed || watch.readableEnded || (await once(watch, 'close')));
      assert.equal(await exists(folder.path), false);
    });
  }

  test('a second signal does not wait for anything, and leaves no file either', async () => {
    await using folder = await openFolder();
    await using demo = await startDemo(folder.path);
    // Keeps the first one waiting.
    await openWatch(folder.path);
    demo.kill('SIGINT');
    await demo.printed('once more');
    // Another one: a repeated SIGINT within a moment counts as the same press of ctrl-C.
    demo.kill('SIGTERM');
    assert.deepEqual(await demo.exit, { code: 143, signal: null });
    assert.equal(await exists(folder.path), false);
  });

  for (const flag of ['--port', '--admin-port']) {
    test(`a port that is taken is named with the flag that chooses another: ${flag}`, async () => {
      await using folder = await openFolder();
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      assert.ok(address !== null && typeof address === 'object');
      await using demo = await startDemo(folder.path, flag, String(address.port));
      assert.equal((await demo.exit).code, 1);
      assert.equal(
        demo.output(),
        `error: port ${address.port} is taken; choose another one with: npm start -- ${flag} NUMBER\n`,
      );
      assert.equal(await exists(folder.path), false);
      server.close();
    });
  }

  test('a second demo in the same folder is refused and does not harm the first', async () => {
    await using folder = await openFolder();
    await using first = await startDemo(folder.path);
    await using second = await startDemo(folder.path);
    assert.equal((await second.exit).code, 1);
    assert.match(second.output(), new RegExp(`a demo runs in .* already \\(process ${first.pid}\\)`));
    assert.deepEqual((await readdir(folder.path)).toSorted(), [
      'authorization.yaml',
      'beta.1.crt',
      'beta.1.key',
      'beta.2.crt',
      'beta.2.key',
      'beta.crt',
      'beta.key',
      'clusters.kubeconfig',
      'demo.pid',
      'gateway.crt',
      'gateway.key',
      'kubeconfig',
      'tokens.csv',
    ]);
  });

  test('a folder that a killed demo left is taken over, and what others keep in it stays', async () => {
    await using folder = await openFolder();
    await mkdir(folder.path);
    await writeFile(join(folder.path, 'mine'), 'kept');
    await using killed = await startDemo(folder.path);
    killed.kill('SIGKILL');
    await killed.exit;
    await using demo = await startDemo(folder.path);
    demo.kill('SIGINT');
    assert.equal((await demo.exit).code, 0);
    assert.deepEqual(await readdir(folder.path), ['mine']);
  });

  for (const args of [
    ['--port', 'many'],
    ['--admin-port', '70000'],
    ['--prot', '1'],
  ]) {
    test(`"${args.join(' ')}" is a mistake of usage`, async () => {
      await using folder = await openFolder();
      await using demo = await startDemo(folder.path, ...args);
      assert.equal((await demo.exit).code, 2);
      assert.match(demo.output(), /^error: /);
    });
  }
});
