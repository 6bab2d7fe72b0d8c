/** A run that is ended takes its proxies, its upstreams and its folder with it. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const main = resolve(import.meta.dirname, '../main.ts');

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const) {
  test(`${signal} in the middle of a run leaves no process and no folder behind`, async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-test-'));
    const args = `--case get-1kib --contestant gateway --seconds 600 --out ${join(folder.path, 'out')}`;
    const bench = spawn(process.execPath, ['--conditions=@roundhouse/source', main, ...args.split(' ')], {
      // Without kubectl nothing has to be fetched; in CI a missing one would be an error.
      env: { ...process.env, TMPDIR: folder.path, ROUNDHOUSE_KUBECTL: '/nowhere/kubectl', CI: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = once(bench, 'exit');
    bench.stderr.resume();
    bench.stdout.resume();
    const isGateway = (command: string): boolean => command.includes('roundhouse.js');
    while (!(await processesOf(folder.path)).some(isGateway) && bench.exitCode === null) {
      await Promise.race([new Promise((wake) => setTimeout(wake, 50)), exited]);
    }
    assert.equal(bench.exitCode, null);
    bench.kill(signal);
    assert.deepEqual(await exited, [code, null]);
    assert.deepEqual(await processesOf(folder.path), []);
    assert.deepEqual(await readdir(folder.path), []);
  });
}

/** What was started with a file of this folder. */
async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return commands.filter((command) => command.includes(join(folder, 'roundhouse-bench-')));
}
