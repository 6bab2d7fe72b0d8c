import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Command } from 'commander';
import { formatDuration, parseDuration } from '../src/duration.ts';
import { readLayers } from '../src/configuration/layers.ts';
import { describeOptions } from '../src/schema-options.ts';

const schema = {
  type: 'object',
  properties: {
    kubeconfigs: { type: 'array', items: { type: 'string' }, default: [], description: 'files' },
    identity: { type: 'string', enum: ['impersonate', 'gateway'], description: 'who' },
    drainTimeoutMs: { type: 'integer', default: 60_000, description: 'longest drain' },
    maxHeaderBytes: { type: 'integer', default: 65_536, description: 'most' },
    tls: { type: 'object', properties: { certFile: { type: 'string', description: 'certificate' } } },
    listen: {
      type: 'object',
      default: {},
      properties: {
        host: { type: 'string', default: '127.0.0.1' },
        port: { type: 'integer', default: 7443 },
      },
      description: 'where',
    },
    clusterIdentity: {
      type: 'object',
      additionalProperties: { enum: ['gateway'] },
      default: {},
      description: 'by name',
    },
    insecure: { type: 'boolean', default: false, description: 'not verified' },
    accessLog: { type: 'boolean', default: true, description: 'no access log' },
    limits: {
      type: 'object',
      default: {},
      properties: { maxIdle: { type: 'integer', default: 3, description: 'idle' } },
    },
  },
};

async function parse(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const command = new Command('x').exitOverride().configureOutput({ writeErr: () => {} });
  const options = describeOptions(schema, { envPrefix: 'RH_TEST_', headings: { limits: 'Limits:' } });
  for (const { option } of options) command.addOption(option);
  Object.assign(process.env, env);
  try {
    command.parse(args, { from: 'user' });
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
  }
  return (await readLayers(command, options, undefined)).input;
}

suite('flags from an options schema', () => {
  test('every flag shows its default, its unit and its environment variable', () => {
    const command = new Command('x').configureHelp({ helpWidth: 200 });
    for (const { option } of describeOptions(schema, {
      envPrefix: 'RH_TEST_',
      headings: { limits: 'Limits:' },
    }))
      command.addOption(option);
    const help = command.helpInformation();
    for (const line of [
      /--kubeconfig <file\.\.\.> +files \(env: RH_TEST_KUBECONFIG\)/,
      /--identity <choice> +who \(choices: "impersonate", "gateway", env: RH_TEST_IDENTITY\)/,
      /--drain-timeout <duration> +longest drain \(default: 1m, env: RH_TEST_DRAIN_TIMEOUT\)/,
      /--max-header-bytes <bytes> +most \(default: 65536, env: RH_TEST_MAX_HEADER_BYTES\)/,
      /--tls-cert-file <file> +certificate/,
      /--listen <host:port> +where \(default: 127\.0\.0\.1:7443, env: RH_TEST_LISTEN\)/,
      /--cluster-identity <name=value\.\.\.> +by name/,
      /^Limits:\n +--max-idle/m,
      /--insecure +not verified/,
      /--no-access-log +no access log/,
      /--max-idle <number> +idle \(default: 3, env: RH_TEST_MAX_IDLE\)/,
    ]) {
      assert.match(help, line);
    }
  });

  test('only what was said reaches the program, nested as it parses it', async () => {
    assert.deepEqual(await parse([]), {});
    assert.deepEqual(
      await parse([
        '--kubeconfig',
        'a',
        'b',
        '--kubeconfig',
        'c,d',
        '--drain-timeout',
        '90s',
        '--max-idle',
        '0',
        '--no-access-log',
        '--insecure',
      ]),
      {
        kubeconfigs: ['a', 'b', 'c', 'd'],
        drainTimeoutMs: 90_000,
        limits: { maxIdle: 0 },
        accessLog: false,
        insecure: true,
      },
    );
  });

  test('addresses, records and nested names are taken apart', async () => {
    assert.deepEqual(
      await parse([
        '--listen',
        '[::1]:0',
        '--cluster-identity',
        'a=gateway',
        'eks=arn:x=impersonate',
        '--tls-cert-file',
        'c',
      ]),
      {
        listen: { host: '::1', port: 0 },
        clusterIdentity: { a: 'gateway', 'eks=arn:x': 'impersonate' },
        tls: { certFile: 'c' },
      },
    );
  });

  test('the environment counts where no flag does', async () => {
    const env = { RH_TEST_KUBECONFIG: 'a,b', RH_TEST_DRAIN_TIMEOUT: '5m', RH_TEST_MAX_IDLE: '9' };
    assert.deepEqual(await parse([], env), {
      kubeconfigs: ['a', 'b'],
      drainTimeoutMs: 300_000,
      limits: { maxIdle: 9 },
    });
    assert.deepEqual(await parse(['--max-idle', '1'], { RH_TEST_MAX_IDLE: '9' }), {
      limits: { maxIdle: 1 },
    });
  });

  for (const args of [
    ['--drain-timeout', '90'],
    ['--max-header-bytes', 'many'],
    ['--identity', 'nobody'],
    ['--listen', '7443'],
    ['--listen', 'host:99999'],
    ['--listen', ':1'],
    ['--cluster-identity', 'alpha'],
    ['--max-idle', ''],
  ]) {
    test(`"${args.join(' ')}" is refused`, async () => {
      await assert.rejects(() => parse(args), /is invalid/);
    });
  }

  test('durations are written as they are read', () => {
    for (const [text, ms] of [
      ['0', 0],
      ['250ms', 250],
      ['90s', 90_000],
      ['1m', 60_000],
      ['2h', 7_200_000],
    ] as const) {
      assert.equal(parseDuration(text), ms);
      assert.equal(formatDuration(ms), text);
    }
    assert.equal(parseDuration('1.5s'), 1_500);
    for (const text of ['', '5', '-1s', '5 s', '1d', 's']) assert.equal(parseDuration(text), undefined, text);
  });
});
