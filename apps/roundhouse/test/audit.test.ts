import assert from 'node:assert/strict';
import { access, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ended, spawnCommand } from './spawned-command.ts';

/** Once the file has a line. */
async function lineOf(path: string): Promise<Record<string, unknown>> {
  for (;;) {
    const [line = ''] = (await readFile(path, 'utf8').catch(() => '')).split('\n');
    if (line !== '') return JSON.parse(line) as Record<string, unknown>;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Once there is a file of that name. */
async function fileAt(path: string): Promise<void> {
  while (
    await access(path).then(
      () => false,
      () => true,
    )
  ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('SIGHUP makes the audit log go on in the file that has its name then, and ends nothing', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'roundhouse-audit-'));
  t.after(() => rm(folder, { recursive: true }));
  const log = join(folder, 'audit.log');
  await writeFile(
    join(folder, 'clusters'),
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:9' } }],
      contexts: [{ name: 'gone', context: { cluster: 'c' } }],
    }),
  );
  const gateway = spawnCommand(
    `gateway --kubeconfig ${folder}/clusters --listen 127.0.0.1:0 --admin 127.0.0.1:0 --audit-log ${log}`.split(
      ' ',
    ),
  );
  t.after(() => gateway.kill('SIGKILL'));
  let said = '';
  for await (const chunk of gateway.stderr.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (said.includes('\n')) break;
  }
  const [, url = ''] = /Serving 1 clusters at ([^ ,]+)/.exec(said) ?? [];
  const outcome = ended(gateway);
  assert.equal((await fetch(`${url}/clusters/gone/version`)).status, 502);
  assert.equal((await lineOf(log))['code'], 502);
  await rename(log, `${log}.1`);
  gateway.kill('SIGHUP');
  await fileAt(log);
  assert.equal((await fetch(`${url}/clusters/nope/version`)).status, 404);
  assert.equal((await lineOf(log))['code'], 404);
  assert.equal((await readFile(`${log}.1`, 'utf8')).trimEnd().split('\n').length, 1);
  gateway.kill('SIGTERM');
  assert.equal((await outcome).exitCode, 0);
});
