// The configuration file of the gateway: its layers, its complaints, and what is shown of it.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { runCaptured } from './captured-terminal.ts';
import { ended, spawnCommand } from './spawned-command.ts';

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: 'https://127.0.0.1:9' } }]
users: [{ name: u, user: { token: planted-token } }, { name: e, user: { exec: { command: x } } }]
contexts:
  - { name: alpha, context: { cluster: c, user: u } }
  - { name: beta, context: { cluster: c, user: e } }
`;

suite('the configuration file', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundhouse-config-'));
    await writeFile(join(folder, 'clusters.yaml'), kubeconfig);
    await writeFile(join(folder, 'tokens.csv'), 'planted-token,joe,,\n');
  });
  after(() => rm(folder, { recursive: true }));

  async function file(text: string): Promise<string> {
    const path = join(folder, 'gateway.yaml');
    await writeFile(path, text);
    return path;
  }

  const good =
    'kubeconfigs: [clusters.yaml]\ntokenFile: tokens.csv\nlimits:\n  maxIdle: 7\n  maxTransports: 9000\n';

  test('defaults < file < environment < flags, and each value says where it comes from', async () => {
    const path = await file(`${good}logLevel: warn\n`);
    const { exitCode, stdout, stderr } = await ended(
      spawnCommand(['config', 'view', '--config', path, '--show-sources', '--max-idle', '9'], {
        ROUNDHOUSE_GATEWAY_MAX_IDLE: '8',
        ROUNDHOUSE_GATEWAY_LOG_LEVEL: 'error',
      }),
    );
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    for (const line of [
      /^ {2}maxIdle: 9 # flag --max-idle$/m,
      /^logLevel: error # env ROUNDHOUSE_GATEWAY_LOG_LEVEL$/m,
      new RegExp(`^ {2}maxTransports: 9000 # ${path}:5$`, 'm'),
      new RegExp(`^tokenFile: ${folder}/tokens\\.csv # ${path}:2$`, 'm'),
      new RegExp(`^kubeconfigs: \\[ "?${folder}/clusters\\.yaml"? \\] # ${path}:1$`, 'm'),
      /^ {2}maxWaitMs: 10000 # default$/m,
      /^listen: \{ host: 127\.0\.0\.1, port: 7443 \} # default$/m,
    ]) {
      assert.match(stdout, line);
    }
  });

  test('-o json has values, or values with sources', async () => {
    const path = await file(good);
    const plain = await runCaptured(['config', 'view', '--config', path, '-o', 'json']);
    assert.equal(JSON.parse(plain.stdout).limits.maxIdle, 7);
    const { stdout } = await runCaptured([
      'config',
      'view',
      '--config',
      path,
      '-o',
      'json',
      '--show-sources',
    ]);
    assert.deepEqual(JSON.parse(stdout).limits.maxIdle, { value: 7, source: `${path}:4` });
  });

  test('keys that do not exist, values that cannot be and broken YAML are exit 3 with their line', async () => {
    for (const [text, says] of [
      [`${good}tokenfile: x\n`, /line 6: unknown key tokenfile; did you mean tokenFile\?/],
      [`${good}  maxIddle: 5\n`, /line 6: unknown key limits\.maxIddle; did you mean maxIdle\?/],
      [`${good}  maxWaitMs: ten\n`, /line 6: limits\.maxWaitMs: /],
      [`${good}oidc: { issuer: 'http://x', audiences: [a] }\n`, /line 6: oidc\.issuer: not an https/],
      [
        `${good}oidc: { audiences: [a], caFilee: b }\n`,
        /line 6: unknown key oidc\.caFilee; did you mean caFile\?/,
      ],
      ['kubeconfigs: [a\n', /line \d+: /],
      [`${good}limits: {}\n`, /line \d+: duplicate key/],
      ['- a\n', /line 1: /],
    ] as const) {
      const path = await file(text);
      const { exitCode, stderr } = await runCaptured(['gateway', '--config', path, '--check']);
      assert.equal(exitCode, 3, text);
      assert.match(stderr, says);
      assert.ok(stderr.includes(path), stderr);
    }
    const missing = await runCaptured(['gateway', '--config', join(folder, 'none.yaml'), '--check']);
    assert.equal(missing.exitCode, 3);
    assert.match(missing.stderr, /none\.yaml:\n.*ENOENT/);
  });

  test('what does not fit together names the line of the file or the flag', async () => {
    const path = await file('kubeconfigs: [clusters.yaml]\nidentity: impersonate\n');
    const inFile = await runCaptured(['gateway', '--config', path, '--check']);
    assert.equal(inFile.exitCode, 3);
    assert.ok(inFile.stderr.includes(`→ ${path}:2 (identity)`), inFile.stderr);
    const byFlag = await runCaptured([
      'gateway',
      '--config',
      await file('kubeconfigs: [clusters.yaml]\n'),
      '--identity',
      'impersonate',
      '--check',
    ]);
    assert.match(byFlag.stderr, /→ --identity/);
  });

  test('--check reads every file that is named, and ends', async () => {
    const path = await file(good);
    const { exitCode, stdout, stderr } = await runCaptured(['gateway', '--config', path, '--check']);
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: '' });
    assert.match(stderr, /^beta would not be served: .*the apiVersion of its exec/m);
    assert.match(stderr, /The configuration is good; 1 clusters would be served\./);
    assert.doesNotMatch(stderr, /planted/);
    for (const [more, says] of [
      ['authorizationFile: none.yaml\n', /cannot read the authorisation file .*none\.yaml/],
      [
        'clientCaFile: tokens.csv\ntls: { certFile: tokens.csv, keyFile: tokens.csv }\n',
        /serving certificate .*no complete PEM/,
      ],
      [
        "oidc: { issuer: 'https://127.0.0.1:9', audiences: [a], caFile: tokens.csv }\n",
        /issuer CA .*no complete PEM/,
      ],
    ] as const) {
      const bad = await runCaptured(['gateway', '--config', await file(good + more), '--check']);
      assert.equal(bad.exitCode, 3, more);
      assert.match(bad.stderr, says);
    }
    const none = await runCaptured([
      'gateway',
      '--config',
      await file(good.replace('clusters.yaml', 'none')),
      '--check',
    ]);
    assert.equal(none.exitCode, 3);
    assert.match(none.stderr, /cannot read the kubeconfig .*none/);
  });
});
