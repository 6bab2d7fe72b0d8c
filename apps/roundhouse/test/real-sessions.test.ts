// Sessions through a gateway that the command line started itself: seen, ended by an operator, and ended with the process.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { UpgradeServer } from '@roundhouse/simulators';
import { runCaptured } from './captured-terminal.ts';
import { ended, spawnCommand, type Ended } from './spawned-command.ts';

const drainTimeoutMs = 500;

function kubeconfigFor(server: UpgradeServer): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'here', cluster: { server: server.url } }],
    users: [{ name: 'me', user: {} }],
    contexts: [{ name: 'alpha', context: { cluster: 'here', user: 'me' } }],
  });
}

async function openGateway(t: TestContext) {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const folder = await mkdtemp(join(tmpdir(), 'roundhouse-cli-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const cluster = stack.use(await UpgradeServer.listen());
  const kubeconfig = join(folder, 'clusters');
  await writeFile(kubeconfig, kubeconfigFor(cluster));
  const anyPort = '127.0.0.1:0';
  const where = ['--listen', anyPort, '--admin', anyPort, '--drain-timeout', `${drainTimeoutMs}ms`];
  const gateway = spawnCommand(['gateway', '--kubeconfig', kubeconfig, ...where]);
  stack.defer(async () => {
    if (gateway.exitCode !== null) return;
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
  });
  let said = '';
  for await (const chunk of gateway.stderr.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    if (said.includes('\n')) break;
  }
  const [, url = '', admin = ''] = /Serving 1 clusters at (\S+), admin at (\S+)\n/.exec(said) ?? [];
  assert.notEqual(admin, '', said);
  /** Resolves when the cluster has agreed. */
  const exec = async (): Promise<Socket> => {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    stack.defer(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.write(
      `POST /clusters/alpha/api/v1/namespaces/web/pods/p/exec?command=sh HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
    );
    const [head] = await once(socket, 'data');
    assert.match(String(head), /^HTTP\/1\.1 101 /);
    return socket;
  };
  return { gateway, cluster, admin, exec };
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

test('sessions lists one that is open, sessions kill ends it; SIGTERM gives another one its drain time and exits', async (t) => {
  const { gateway, cluster, admin, exec } = await openGateway(t);
  const first = await exec();
  const table = await runCaptured(['sessions', '--admin', admin]);
  const [, id = ''] = /^([0-9a-f]{16}) .* alpha +exec web\/p +SPDY\/3\.1 +\ds /m.exec(table.stdout) ?? [];
  const gone = closed(first);
  const killed = await runCaptured(['sessions', 'kill', id, '--admin', admin]);
  assert.deepEqual([killed.exitCode, killed.stderr], [0, '']);
  assert.match(killed.stdout, new RegExp(`^session/${id} ended: .*exec web/p on alpha\n$`));
  await gone;
  await cluster.waitForOpen(0);
  const again = await runCaptured(['sessions', 'kill', id, '--admin', admin]);
  assert.equal(again.exitCode, 1);
  assert.match(again.stderr, /ERR_RH_SESSION_UNKNOWN/);

  const second = await exec();
  const cut = closed(second);
  const exited: Promise<Ended> = ended(gateway);
  const startedAt = performance.now();
  gateway.kill('SIGTERM');
  await cut;
  const { exitCode, stdout } = await exited;
  const tookMs = performance.now() - startedAt;
  assert.equal(exitCode, 0);
  assert.ok(tookMs >= drainTimeoutMs && tookMs < drainTimeoutMs + 5_000, String(tookMs));
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'request');
  assert.deepEqual(
    lines.map(({ code, error }) => [code, error]),
    [
      [101, 'ERR_RH_SESSION_KILLED'],
      [101, 'ERR_RH_SHUTTING_DOWN'],
    ],
  );
});
