import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { openFolder, startDemo, type RunningDemo } from './running-demo.ts';

interface Kubeconfig {
  readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[];
  readonly contexts: readonly { readonly name: string }[];
}

async function names(url: string): Promise<string[]> {
  const list = (await (await fetch(url)).json()) as { items: { metadata: { name: string } }[] };
  return list.items.map(({ metadata }) => metadata.name);
}

async function openWatch(demo: RunningDemo): Promise<IncomingMessage> {
  const request = get(`${demo.gatewayUrl}/clusters/alpha/api/v1/pods?watch=true`, { agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
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
    const kubeconfig = JSON.parse(await readFile(join(folder.path, 'kubeconfig'), 'utf8')) as Kubeconfig;
    assert.deepEqual(
      kubeconfig.contexts.map(({ name }) => name),
      ['alpha', 'beta'],
    );
    const [alpha, beta] = kubeconfig.clusters.map(({ cluster }) => cluster.server);
    assert.deepEqual(await names(`${alpha}/apis/apps/v1/deployments`), ['signals', 'timetable', 'turntable']);
    assert.deepEqual(await names(`${beta}/apis/apps/v1/deployments`), ['tickets', 'manifest']);
    for (const file of ['kubeconfig', 'clusters.kubeconfig']) {
      assert.equal((await stat(join(folder.path, file))).mode & 0o777, 0o600, file);
    }
    assert.match(demo.output(), /kubectl --context alpha get pods -A -w/);
    assert.match(demo.output(), new RegExp(`npx roundhouse transports --admin ${demo.adminUrl}`));
    assert.ok(!demo.output().includes('\u001b'), 'no colour in a pipe');
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // That its ports are free needs no look: the process is gone, and others may have taken them by then.
    test(`${signal} ends it in order, open watches or not: exit 0, and no file is left`, async () => {
      await using folder = await openFolder();
      await using demo = await startDemo(folder.path);
      const watch = await openWatch(demo);
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
    await openWatch(demo);
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
      'clusters.kubeconfig',
      'demo.pid',
      'kubeconfig',
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
