import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ManualClock, execCredential, runningInGroup, until } from '@roundhouse/simulators';
import { ExecSources } from '../../src/index.ts';
import type { CredentialOutcome, ExecPlugin, ExecRun } from '../../src/index.ts';
import { openPluginFolder, pluginFor } from '../rig/plugin-folder.ts';

async function openRig(t: TestContext, maxRunning = 8) {
  const folder = await openPluginFolder(t);
  const clock = new ManualClock();
  const runs: ExecRun[] = [];
  const heard: string[] = [];
  const sources = new ExecSources({
    environment: { PATH: '/usr/bin:/bin' },
    timeoutMs: 30_000,
    showStderr: false,
    maxRunning,
    clock,
    onOutcome: (_outcome, run) => runs.push(run),
  });
  t.after(() => sources[Symbol.asyncDispose]());
  const open = (name: string, plugin: ExecPlugin) =>
    sources.open(plugin, {
      name,
      onOutcome: ({ result }: CredentialOutcome) => heard.push(`${name} ${result}`),
    });
  folder.write('answer', execCredential({ token: 't0' }));
  return { folder, clock, sources, runs, heard, open };
}

test('contexts that mean the same plugin have one credential and one run, and each hears of it', async (t) => {
  const rig = await openRig(t);
  const plugin = pluginFor(rig.folder.script('plugin', 'cat "$D/answer"'), { args: ['planted-secret'] });
  const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
  const used = names.map((name) => rig.open(name, { ...plugin }));
  const found = await Promise.all(used.map((source) => source.get()));
  assert.equal(new Set(found).size, 1);
  assert.equal(rig.folder.runs, 1);
  assert.deepEqual(rig.runs, [{ command: plugin.command, users: names }]);
  assert.deepEqual(
    rig.heard,
    names.map((name) => `${name} changed`),
  );
  await Promise.all(used.slice(1).map((source) => source[Symbol.asyncDispose]()));
  assert.equal(used[0]?.present()?.authorization, 'Bearer t0');
  assert.equal(rig.sources.size, 1);
  await used[0]?.[Symbol.asyncDispose]();
  assert.equal(rig.sources.size, 0);
});

test('whatever differs is another credential', async (t) => {
  const rig = await openRig(t);
  const plugin = pluginFor(rig.folder.script('plugin', 'cat "$D/answer"'));
  const others: readonly Partial<ExecPlugin>[] = [
    {},
    { command: rig.folder.script('other', 'cat "$D/answer"') },
    { args: ['a'] },
    { args: ['a', ''] },
    { env: [{ name: 'A', value: 'b' }] },
    { info: '{"spec":{}}' },
    { allowlist: [plugin.command] },
  ];
  await Promise.all(others.map((other, index) => rig.open(`c${index}`, { ...plugin, ...other }).get()));
  assert.equal(rig.folder.runs, others.length);
});

test('plugins of many clusters run a few at a time, and all have their turn', async (t) => {
  const rig = await openRig(t, 2);
  const command = rig.folder.script('plugin', 'while [ ! -e "$D/go" ]; do sleep 0.01; done; cat "$D/answer"');
  const all = Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      rig.open(`c${index}`, pluginFor(command, { args: [`${index}`] })).get(),
    ),
  );
  await until(() => rig.folder.runs === 2, 'the first two');
  assert.equal(rig.sources.running, 2);
  rig.folder.write('go', '');
  assert.equal((await all).length, 6);
  assert.equal(rig.folder.runs, 6);
  assert.equal(rig.sources.running, 0);
});

test('one that waits for its turn ends with its user, and takes nobody’s place', async (t) => {
  const rig = await openRig(t, 1);
  const command = rig.folder.script('plugin', 'while [ ! -e "$D/go" ]; do sleep 0.01; done; cat "$D/answer"');
  const [first, second, third] = ['1', '2', '3'].map((arg) =>
    rig.open(`c${arg}`, pluginFor(command, { args: [arg] })),
  );
  const found = first?.get();
  await until(() => rig.folder.runs === 1, 'the first');
  const given = second?.get().catch(() => 'given up');
  const last = third?.get();
  await second?.[Symbol.asyncDispose]();
  assert.equal(await given, 'given up');
  rig.folder.write('go', '');
  await found;
  await last;
  assert.equal(rig.folder.runs, 2);
});

for (const [what, end, code] of [
  ['ends by itself', 'process.exit(0)', 0],
  ['is broken by an error', "queueMicrotask(() => { throw new Error('a bug'); })", 1],
] as const) {
  test(`a plugin ends with a process that ${what}, though it takes no notice of SIGTERM`, async (t) => {
    const folder = await openPluginFolder(t);
    const command = folder.script('plugin', `trap '' TERM; sleep 600 & echo "$$" > "$D/group"; wait; wait`);
    const source = `
      import { existsSync } from 'node:fs';
      import { ExecSources } from '@roundhouse/kubernetes';
      const sources = new ExecSources({
        environment: process.env, timeoutMs: 60_000, showStderr: false, maxRunning: 1, onOutcome: () => {},
      });
      const plugin = ${JSON.stringify(pluginFor(command))};
      sources.open(plugin, { name: 'c', onOutcome: () => {} }).get().catch(() => {});
      const look = setInterval(() => {
        if (existsSync('${folder.path}/group')) { clearInterval(look); ${end}; }
      }, 10);`;
    const child = spawn(
      process.execPath,
      ['--conditions=@roundhouse/source', '--input-type=module-typescript', '--eval', source],
      { cwd: import.meta.dirname, stdio: 'ignore', timeout: 20_000, killSignal: 'SIGKILL' },
    );
    assert.deepEqual(await once(child, 'exit'), [code, null]);
    const group = Number(folder.read('group'));
    assert.ok(group > 1);
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
  });
}
