import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { openAdminStandIn } from './admin-stand-in.ts';
import { runCaptured } from './captured-terminal.ts';

const soon = new Date(Date.now() + 30 * 86_400_000 + 60_000).toISOString();

const clusters = [
  {
    name: 'alpha',
    state: 'ready',
    server: 'https://10.0.0.1:6443',
    identity: 'gateway',
    certificateExpiresAt: soon,
    credential: { kind: 'exec', expiresAt: soon, lastError: null },
    source: 'a.kubeconfig',
  },
  {
    name: 'beta',
    state: 'refused',
    server: '',
    lastError: { code: 'X', message: 'auth-provider is not supported' },
  },
];

const transport = {
  id: '0123456789ab',
  origin: 'https://10.0.0.1:6443',
  identities: ['alpha'],
  generations: [2],
  protocols: { unary: 'http/1.1', stream: 'h2' },
  http2: { connections: 3, requests: 250 },
  state: 'open',
  connections: { opening: 0, idle: 2, active: 1, draining: 0 },
  streams: 1,
  upgrades: 7,
  waiting: 0,
  requestsTotal: 42,
  dials: 3,
  dialFailures: 1,
  resumptions: 2,
  bytesIn: 1_500_000,
  bytesOut: 999,
  serverName: '10.0.0.1',
  insecure: false,
  dialer: 'direct',
  createdAt: new Date(Date.now() - 3 * 60_000).toISOString(),
  lastUsedAt: new Date(Date.now() - 5_000).toISOString(),
};

function openAdmin() {
  return openAdminStandIn({
    '/debug/clusters': { clusters },
    '/debug/transports': { transports: [transport] },
  });
}

suite('clusters and transports', () => {
  test('a table has padded columns, <none> for what is missing, and no colour in a pipe', async () => {
    await using admin = await openAdmin();
    const { exitCode, stdout, stderr } = await runCaptured(['clusters', '--admin', admin.url]);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    assert.equal(
      stdout,
      [
        'NAME    STATE     SERVER                  CERTIFICATE EXPIRES   LAST ERROR',
        'alpha   ready     https://10.0.0.1:6443   in 30d                <none>',
        'beta    refused   <none>                  <none>                auth-provider is not supported',
        '',
      ].join('\n'),
    );
  });

  test('wide adds columns', async () => {
    await using admin = await openAdmin();
    const { stdout } = await runCaptured(['transports', '-o', 'wide', '--admin', admin.url]);
    const [head, line] = stdout.split('\n');
    assert.match(
      head ?? '',
      /^TRANSPORT .*HTTP\/2 +OPENING .*STREAMS +UPGRADES +WAITING .*DIALS .*IN +OUT .*SERVER NAME +DIALER$/,
    );
    assert.match(
      line ?? '',
      /^0123456789ab +https:\/\/10\.0\.0\.1:6443 +alpha +2 +http\/1\.1, streams h2 +open +2 +1 +3 +0 +0 +1 +7 +0 .* 1\.4MiB +999B +5s +3m.* yes +10\.0\.0\.1 +direct$/,
    );
  });

  test('wide says by which credential a cluster is asked, and when that ends', async () => {
    await using admin = await openAdmin();
    const { stdout } = await runCaptured(['clusters', '-o', 'wide', '--admin', admin.url]);
    const [head, line] = stdout.split('\n');
    assert.match(head ?? '', / CREDENTIAL +CERTIFICATE EXPIRES /);
    assert.match(line ?? '', / exec, ends in 30d +in 30d /);
  });

  test('json and yaml carry everything that the gateway said, with the version of their shape', async () => {
    await using admin = await openAdmin();
    const json: unknown = JSON.parse(
      (await runCaptured(['transports', '-o', 'json', '--admin', admin.url])).stdout,
    );
    assert.deepEqual(json, { schemaVersion: 1, kind: 'TransportList', items: [transport] });
    const yaml: unknown = parse((await runCaptured(['clusters', '-o', 'yaml', '--admin', admin.url])).stdout);
    assert.deepEqual(yaml, { schemaVersion: 1, kind: 'ClusterList', items: clusters });
  });

  test('name prints one kind/name a line', async () => {
    await using admin = await openAdmin();
    assert.equal(
      (await runCaptured(['clusters', '-o', 'name', '--admin', admin.url])).stdout,
      'cluster/alpha\ncluster/beta\n',
    );
  });

  test('the address comes from ROUNDHOUSE_ADMIN when no flag says otherwise', async (t) => {
    await using admin = await openAdmin();
    t.after(() => delete process.env['ROUNDHOUSE_ADMIN']);
    process.env['ROUNDHOUSE_ADMIN'] = admin.url;
    assert.equal((await runCaptured(['clusters'])).exitCode, 0);
    assert.deepEqual(admin.requests, ['/debug/clusters']);
  });

  test('nothing to list is said on stderr, and no data', async () => {
    await using admin = await openAdminStandIn({ '/debug/clusters': { clusters: [] } });
    const { exitCode, stdout, stderr } = await runCaptured(['clusters', '--admin', admin.url]);
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: '' });
    assert.match(stderr, /^No clusters/);
  });

  test('a kubeconfig that has turned bad and a name that two have are said beside the table, on stderr', async () => {
    await using admin = await openAdminStandIn({
      '/debug/clusters': {
        clusters,
        sources: [
          { path: '/etc/good', state: 'good', lastError: null },
          { path: '/etc/bad', state: 'stale', lastError: { code: 'X', message: 'line 4: bad indent' } },
        ],
        conflicts: [{ name: 'alpha', source: '/etc/b', heldBy: '/etc/a' }],
      },
    });
    const { stdout, stderr } = await runCaptured(['clusters', '--admin', admin.url]);
    assert.ok(!stdout.includes('/etc/bad'));
    assert.deepEqual(stderr.trimEnd().split('\n'), [
      '/etc/bad cannot be used now (line 4: bad indent); its last good content stays in use',
      'alpha of /etc/b is not served: /etc/a has the name',
    ]);
  });

  test('colour only on request when stdout is no terminal', async () => {
    await using admin = await openAdmin();
    const { stdout } = await runCaptured(['clusters', '--color', 'always', '--admin', admin.url]);
    assert.ok(stdout.includes('\u001b[32mready\u001b[39m'));
  });

  test('control characters in an answer do not reach the terminal', async () => {
    await using admin = await openAdminStandIn({
      '/debug/clusters': { clusters: [{ name: 'a\u001b[2Jb', state: 'ready' }] },
    });
    const { stdout } = await runCaptured(['clusters', '--admin', admin.url]);
    assert.ok(!stdout.includes('\u001b'));
  });

  const failures = [
    {
      name: 'nothing listens there',
      answers: undefined,
      exitCode: 4,
      says: /no gateway answers at http:\/\/127\.0\.0\.1:\d+ \(connection refused\)/,
    },
    { name: 'it answers 404', answers: {}, exitCode: 1, says: /answered 404; is it the admin listener/ },
    {
      name: 'it does not answer in JSON',
      answers: { '/debug/clusters': '<html>' },
      exitCode: 1,
      says: /did not answer in JSON/,
    },
    {
      name: 'it answers something else',
      answers: { '/debug/clusters': { pods: [] } },
      exitCode: 1,
      says: /without a list of clusters/,
    },
  ];
  for (const { name, answers, exitCode, says } of failures) {
    test(`when ${name}: exit ${exitCode} and one line that says so`, async () => {
      const admin = await openAdminStandIn(answers ?? {});
      if (answers === undefined) await admin[Symbol.asyncDispose]();
      const outcome = await runCaptured(['clusters', '--admin', admin.url]);
      if (answers !== undefined) await admin[Symbol.asyncDispose]();
      assert.equal(outcome.exitCode, exitCode);
      assert.match(outcome.stderr, says);
      assert.equal(outcome.stderr.trimEnd().split('\n').length, 1);
    });
  }

  test('a gateway that does not answer in time: exit 124', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { createServer } = await import('node:net');
    const server = createServer(() => {}).listen(0, '127.0.0.1', resolve);
    await promise;
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const url = `http://127.0.0.1:${address.port}`;
    const outcome = await runCaptured(['clusters', '--admin', url, '--request-timeout', '0.2']);
    server.close();
    assert.equal(outcome.exitCode, 124);
    assert.match(outcome.stderr, /did not answer within 0\.2 s/);
  });
});

suite('--watch', () => {
  test('in a pipe it prints the header once, then only rows that changed, until it is interrupted', async () => {
    const interrupt = new AbortController();
    let state = 'ready';
    await using admin = await openAdminStandIn({
      '/debug/clusters': () => ({
        clusters: [
          { name: 'alpha', state },
          { name: 'beta', state: 'ready' },
        ],
      }),
    });
    const { exitCode, stdout } = await runCaptured(
      ['clusters', '--watch', '--interval', '0.01', '--admin', admin.url],
      {
        signal: interrupt.signal,
        onOutput: (text) => {
          if (text.includes('failing')) interrupt.abort();
          else state = 'failing';
        },
      },
    );
    assert.equal(exitCode, 130);
    assert.deepEqual(
      stdout.split('\n').map((line) => line.split(/\s+/).slice(0, 2).join(' ')),
      ['NAME STATE', 'alpha ready', 'beta ready', 'alpha failing', ''],
    );
  });

  test('on a terminal it redraws the whole table', async () => {
    const interrupt = new AbortController();
    await using admin = await openAdminStandIn({ '/debug/clusters': { clusters } });
    const { stdout } = await runCaptured(
      ['clusters', '--watch', '--interval', '0.01', '--admin', admin.url],
      {
        signal: interrupt.signal,
        interactive: true,
        onOutput: (text) => {
          if (text.split('NAME').length > 2) interrupt.abort();
        },
      },
    );
    assert.equal(stdout.split('\u001b[H\u001b[J').length, 3);
  });

  test('json is one object a line, yaml one document a change', async () => {
    await using admin = await openAdminStandIn({ '/debug/clusters': { clusters } });
    for (const output of ['json', 'yaml']) {
      const interrupt = new AbortController();
      const { stdout } = await runCaptured(
        ['clusters', '--watch', '-o', output, '--interval', '0.01', '--admin', admin.url],
        {
          signal: interrupt.signal,
          onOutput: () => interrupt.abort(),
        },
      );
      if (output === 'yaml') assert.equal(parseAllDocuments(stdout).length, 1);
      else
        assert.deepEqual(
          stdout
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as unknown),
          clusters,
        );
    }
  });
});
