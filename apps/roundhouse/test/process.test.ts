// What only a process of its own shows: streams that close, signals, and the Node that it starts on.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { findInstalledNode, isSupported } from '../bin/runtime.js';
import { openAdminStandIn } from './admin-stand-in.ts';
import { ended, spawnCommand } from './spawned-command.ts';

suite('the process', () => {
  test('prints no warning, and data on stdout only', async () => {
    const { exitCode, stdout, stderr } = await ended(spawnCommand(['--version']));
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });

  test('passes the exit code of a mistake on', async () => {
    assert.equal((await ended(spawnCommand(['nonsense']))).exitCode, 2);
  });

  test('a reader that has had enough ends it quietly', async () => {
    await using admin = await openAdminStandIn({
      '/debug/clusters': {
        clusters: Array.from({ length: 50_000 }, (_, index) => ({
          name: `cluster-${index}`,
          state: 'ready',
        })),
      },
    });
    const child = spawnCommand(['clusters', '--admin', admin.url]);
    const result = ended(child).catch(() => undefined);
    child.stdout.once('data', () => child.stdout.destroy());
    const [code, signal] = await once(child, 'exit');
    await result;
    assert.deepEqual({ code, signal }, { code: 0, signal: null });
  });

  for (const { signal, exitCode } of [
    { signal: 'SIGINT', exitCode: 130 },
    { signal: 'SIGTERM', exitCode: 143 },
  ] as const) {
    test(`${signal} ends a watch with ${exitCode}, and nothing on stderr`, async () => {
      await using admin = await openAdminStandIn({ '/debug/clusters': { clusters: [{ name: 'alpha' }] } });
      const child = spawnCommand(['clusters', '--watch', '--admin', admin.url]);
      const result = ended(child);
      await once(child.stdout, 'data');
      child.kill(signal);
      const { exitCode: code, stderr } = await result;
      assert.deepEqual({ code, stderr }, { code: exitCode, stderr: '' });
    });
  }
});

suite('the launcher', () => {
  test('knows which Node is new enough', () => {
    assert.deepEqual(['24.22.1', '24.23.0', '26.9.0', '26.12.1', '27.0.0'].map(isSupported), [
      true,
      true,
      true,
      true,
      true,
    ]);
    assert.deepEqual(['26.8.2', '25.9.0', '24.21.0', '22.22.2'].map(isSupported), [
      false,
      false,
      false,
      false,
    ]);
  });

  test('finds the runtime in a node_modules of the folder or of one above', async () => {
    assert.match(findInstalledNode(import.meta.dirname) ?? 'none', /node_modules\/node-[\w-]+\/bin\/node$/);
    assert.equal(findInstalledNode('/'), undefined);
  });

  test('on a Node that is too old it continues on the installed one, signals and exit codes included', async () => {
    await using old = await pretendOldNode();
    const version = await ended(spawnCommand(['version', '-o', 'json'], old.env));
    assert.deepEqual({ exitCode: version.exitCode, stderr: version.stderr }, { exitCode: 0, stderr: '' });
    assert.notEqual((JSON.parse(version.stdout) as { node: string }).node, '20.20.2');
    assert.equal((await ended(spawnCommand(['nonsense'], old.env))).exitCode, 2);

    await using admin = await openAdminStandIn({ '/debug/clusters': { clusters: [{ name: 'alpha' }] } });
    const child = spawnCommand(['clusters', '--watch', '--admin', admin.url], old.env);
    const result = ended(child);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    assert.equal((await result).exitCode, 130);
  });
});

/** Preloads what makes a Node look old: its version, and no execve. Only the first process is fooled. */
async function pretendOldNode(): Promise<AsyncDisposable & { readonly env: NodeJS.ProcessEnv }> {
  const folder = await mkdtemp(join(tmpdir(), 'roundhouse-old-'));
  const preload = join(folder, 'old.mjs');
  await writeFile(
    preload,
    `if (process.env.PRETEND_OLD === 'yes') {
       process.env.PRETEND_OLD = 'no';
       Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });
       process.execve = undefined;
     }`,
  );
  return {
    env: { ...process.env, PRETEND_OLD: 'yes', NODE_OPTIONS: `--import=${preload}` },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
