// The command line against a gateway that it started itself, in front of a simulated cluster.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parse } from 'yaml';
import { CertificateAuthority, KubeApiserver } from '@roundhouse/simulators';
import { runCaptured } from './captured-terminal.ts';
import { ended, spawnCommand, type Spawned } from './spawned-command.ts';

const token = 'planted-secret-token';

interface Listing {
  readonly items: readonly Readonly<Record<string, unknown>>[];
}

/** A kubeconfig with one good context, one whose server is not there, and one that nobody supports. */
function kubeconfigFor(cluster: KubeApiserver, authority: CertificateAuthority): string {
  const ca = Buffer.from(authority.certificatePem).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'here', cluster: { server: cluster.url, 'certificate-authority-data': ca } },
      { name: 'gone', cluster: { server: 'https://127.0.0.1:9', 'certificate-authority-data': ca } },
    ],
    users: [
      { name: 'me', user: { token } },
      { name: 'plugin', user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' } } },
    ],
    contexts: [
      { name: 'alpha', context: { cluster: 'here', user: 'me' } },
      { name: 'team/beta', context: { cluster: 'gone', user: 'me' } },
      { name: 'gamma', context: { cluster: 'here', user: 'plugin' } },
    ],
  });
}

suite('against a real gateway', () => {
  const resources = new AsyncDisposableStack();
  let folder = '';
  let kubeconfig = '';
  let gateway: Spawned;
  let url = '';
  let admin = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundhouse-cli-'));
    resources.defer(() => rm(folder, { recursive: true }));
    kubeconfig = join(folder, 'clusters');
    const authority = await CertificateAuthority.create();
    const cluster = resources.use(
      await KubeApiserver.listen({
        name: 'alpha',
        tls: await authority.issue({ commonName: 'alpha', usage: 'server' }),
        authentication: { tokens: { [token]: { username: 'me', groups: ['system:masters'] } } },
      }),
    );
    await writeFile(kubeconfig, kubeconfigFor(cluster, authority));
    gateway = spawnCommand([
      'gateway',
      '--kubeconfig',
      kubeconfig,
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
    ]);
    resources.defer(async () => {
      if (gateway.exitCode !== null) return;
      gateway.kill('SIGKILL');
      await once(gateway, 'exit');
    });
    let said = '';
    for await (const chunk of gateway.stderr.iterator({ destroyOnReturn: false })) {
      said += String(chunk);
      if (said.includes('\n')) break;
    }
    [, url = '', admin = ''] = /Serving 3 clusters at (\S+), admin at (\S+)\n/.exec(said) ?? [];
    assert.notEqual(admin, '', said);
  });

  after(() => resources.disposeAsync());

  async function list(command: string): Promise<Listing['items']> {
    const { exitCode, stdout, stderr } = await runCaptured([command, '-o', 'json', '--admin', admin]);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    return (JSON.parse(stdout) as Listing).items;
  }

  test('clusters shows each with its state, what is wrong with it, and never a secret', async () => {
    assert.equal((await fetch(`${url}/clusters/alpha/api/v1/namespaces`)).status, 200);
    const beta = (await list('clusters')).find(({ name }) => name === 'team/beta');
    assert.equal((await fetch(`${url}${String(beta?.['path'])}/api/v1/namespaces`)).status, 502);
    const states = (await list('clusters')).map(({ name, state }) => [name, state]);
    assert.deepEqual(states, [
      ['alpha', 'ready'],
      ['team/beta', 'unreachable'],
      ['gamma', 'refused'],
    ]);
    const { stdout } = await runCaptured(['clusters', '-o', 'wide', '--admin', admin]);
    assert.match(stdout, /^alpha +ready +https:\/\/127\.0\.0\.1:\d+ +gateway +yes .*<none>$/m);
    assert.match(stdout, /^gamma +refused .*exec/m);
    assert.ok(!stdout.includes(token));
  });

  test('transports shows one for the cluster that was reached, however often it is asked', async () => {
    for (let index = 0; index < 5; index += 1)
      await (await fetch(`${url}/clusters/alpha/version`)).arrayBuffer();
    const reached = (await list('transports')).filter(
      ({ identities }) => Array.isArray(identities) && identities.includes('alpha'),
    );
    assert.equal(reached.length, 1);
    const { stdout } = await runCaptured(['transports', '--admin', admin]);
    assert.match(stdout, /^\w{12} +https:\/\/127\.0\.0\.1:\d+ +alpha +1 +http\/1\.1 +open /m);
    assert.ok(!JSON.stringify(await list('transports')).includes(token));
  });

  test('kubeconfig leads to every cluster under the path that the gateway serves it at', async () => {
    const { stdout } = await runCaptured(['kubeconfig', '--admin', admin]);
    const written = parse(stdout) as { clusters: { name: string; cluster: { server: string } }[] };
    assert.deepEqual(
      written.clusters.map(({ name }) => name),
      ['alpha', 'team/beta', 'gamma'],
    );
    const statuses = await Promise.all(
      written.clusters.map(async ({ cluster }) => (await fetch(`${cluster.server}/version`)).status),
    );
    assert.deepEqual(statuses, [200, 502, 503]);
  });

  test('a port that is taken: exit 3, and the flag that chooses another', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    for (const flag of ['--listen', '--admin']) {
      const others = {
        '--listen': '127.0.0.1:0',
        '--admin': '127.0.0.1:0',
        [flag]: `127.0.0.1:${address.port}`,
      };
      const { exitCode, stderr } = await ended(
        spawnCommand([
          'gateway',
          '--kubeconfig',
          kubeconfig,
          '--log-level',
          'silent',
          ...Object.entries(others).flat(),
        ]),
      );
      assert.equal(exitCode, 3);
      assert.match(stderr, new RegExp(`port ${address.port} is taken \\(${flag}\\)`));
    }
    server.close();
  });

  const mistakes = [
    { name: 'no kubeconfig', args: [], exitCode: 2, says: /required option '--kubeconfig <file\.\.\.>'/ },
    {
      name: 'a kubeconfig that is not there',
      args: ['--kubeconfig', '/nowhere'],
      exitCode: 3,
      says: /\/nowhere: ENOENT/,
    },
    {
      name: 'plain HTTP to the world',
      args: ['--kubeconfig', 'x', '--listen', '0.0.0.0:0'],
      exitCode: 3,
      says: /loopback only.*\n.*→ --listen/,
    },
    {
      name: 'a certificate without its key',
      args: ['--kubeconfig', 'x', '--tls-cert-file', 'y'],
      exitCode: 3,
      says: /→ --tls-key-file/,
    },
    {
      name: 'a duration without a unit',
      args: ['--kubeconfig', 'x', '--drain-timeout', '5'],
      exitCode: 2,
      says: /is not a duration/,
    },
    {
      name: 'a limit of nothing',
      args: ['--kubeconfig', 'x', '--max-idle', '0'],
      exitCode: 3,
      says: /→ --max-idle/,
    },
    { name: 'an unknown flag', args: ['--kubeconfg', 'x'], exitCode: 2, says: /Did you mean --kubeconfig\?/ },
  ];
  for (const { name, args, exitCode, says } of mistakes) {
    test(`${name}: exit ${exitCode}`, async () => {
      const outcome = await runCaptured(['gateway', ...args]);
      assert.deepEqual({ exitCode: outcome.exitCode, stdout: outcome.stdout }, { exitCode, stdout: '' });
      assert.match(outcome.stderr, says);
    });
  }

  // Last: it ends the gateway of the others.
  test('SIGTERM ends it in order: exit 0, JSON lines on stdout, and no secret in them', async () => {
    const result = ended(gateway);
    gateway.kill('SIGTERM');
    const { exitCode, stdout } = await result;
    assert.equal(exitCode, 0);
    const messages = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);
    assert.ok(messages.includes('draining'));
    assert.equal(messages.at(-1), 'closed');
    assert.ok(!stdout.includes(token));
    assert.ok(!stdout.includes((await readFile(kubeconfig, 'utf8')).slice(0, 40)));
  });
});
