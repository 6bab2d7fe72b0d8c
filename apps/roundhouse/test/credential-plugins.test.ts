// Credential plugins are processes of the gateway's: none of them outlives it, however it ends.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { PluginFolder, runningInGroup, until } from '@roundhouse/simulators';
import { spawnCommand } from './spawned-command.ts';

// Two of its processes do not end by themselves, and one of them takes no notice of SIGTERM.
const stubborn = `trap '' TERM; sleep 600 & echo "$$" > "$D/group"; wait; wait`;

for (const [what, signals, code] of [
  ['SIGTERM', ['SIGTERM'], 0],
  ['SIGINT', ['SIGINT'], 0],
  ['a second SIGTERM', ['SIGTERM', 'SIGTERM'], 143],
] as const) {
  test(`a plugin that runs ends with a gateway that is ended by ${what}`, async () => {
    await using plugins = await PluginFolder.create();
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './plugin',
      interactiveMode: 'Never',
    };
    plugins.script('plugin', stubborn);
    const kubeconfig = plugins.write(
      'kubeconfig',
      JSON.stringify({
        clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
        users: [{ name: 'u', user: { exec } }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      }),
    );
    const options = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--drain-timeout', '200ms'];
    const child = spawnCommand(['gateway', '--kubeconfig', kubeconfig, ...options]);
    const exited = once(child, 'exit');
    child.stderr.resume();
    let url = '';
    const drained = Promise.withResolvers<void>();
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text);
      if (line.msg === 'listening') url = line.url;
      if (line.msg === 'draining') drained.resolve();
    });
    await until(() => url !== '', 'a gateway that listens', 20_000);
    const asking = request(`${url}/clusters/c/version`);
    asking.on('error', () => undefined).on('response', (response) => response.resume());
    asking.end();
    await until(() => plugins.read('group') !== '', 'a plugin that runs', 20_000);
    const group = Number(plugins.read('group'));
    assert.equal(runningInGroup(group).length, 2);
    for (const signal of signals) {
      child.kill(signal);
      await drained.promise;
    }
    assert.deepEqual(await exited, [code, null]);
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
  });
}
