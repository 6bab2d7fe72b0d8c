import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { runCaptured } from './captured-terminal.ts';

suite('the command line', () => {
  test('without arguments it prints its help on stdout and exits with 0', async () => {
    const { exitCode, stdout, stderr } = await runCaptured([]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^Usage: roundhouse/);
    assert.equal(stderr, '');
  });

  for (const args of [['--help'], ['help'], ['help', 'clusters'], ['clusters', '--help'], ['--version']]) {
    test(`"${args.join(' ')}" is data: stdout, exit 0`, async () => {
      const { exitCode, stdout, stderr } = await runCaptured(args);
      assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
      assert.notEqual(stdout, '');
    });
  }

  const mistakes = [
    { args: ['transprots'], says: /unknown command 'transprots'[\s\S]*Did you mean transports\?/ },
    { args: ['clusters', '--wacth'], says: /unknown option '--wacth'[\s\S]*Did you mean --watch\?/ },
    { args: ['clusters', '-o', 'xml'], says: /'xml' is invalid.*table, wide, json, yaml, name/ },
    { args: ['clusters', 'alpha'], says: /too many arguments/ },
    { args: ['clusters', '--interval', 'soon'], says: /--interval "soon" is not a number of seconds/ },
    { args: ['clusters', '--interval', '0'], says: /--interval "0" is not a number of seconds above 0/ },
    { args: ['clusters', '--admin', 'here'], says: /--admin "here" is not an http/ },
    { args: ['clusters', '--color', 'blue'], says: /'blue' is invalid/ },
    { args: ['completion', 'tcsh'], says: /'tcsh' is invalid.*bash, zsh, fish/ },
    { args: ['completion'], says: /missing required argument 'shell'/ },
    { args: ['help', 'everything'], says: /no help for 'everything'/ },
    { args: ['explain', 'ERR_RH_NOTHING'], says: /no error code "ERR_RH_NOTHING"/ },
  ];
  for (const { args, says } of mistakes) {
    test(`"${args.join(' ')}" is a mistake of usage: words on stderr, exit 2`, async () => {
      const { exitCode, stdout, stderr } = await runCaptured(args);
      assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: '' });
      assert.match(stderr, says);
    });
  }

  test('help exit-codes lists what the exit codes mean', async () => {
    const { exitCode, stdout } = await runCaptured(['help', 'exit-codes']);
    assert.equal(exitCode, 0);
    for (const code of [0, 1, 2, 3, 4, 5, 124, 130, 143])
      assert.match(stdout, new RegExp(`^${code}\\s`, 'm'));
  });

  test('version prints what it runs on, as text, json and yaml', async () => {
    const json: unknown = JSON.parse((await runCaptured(['version', '-o', 'json'])).stdout);
    assert.deepEqual(Object.keys(json as object), ['roundhouse', 'node', 'openssl', 'platform']);
    assert.match((await runCaptured(['version'])).stdout, /^roundhouse \d+\.\d+\.\d+\nnode /);
    assert.match((await runCaptured(['version', '-o', 'yaml'])).stdout, /^node: /m);
  });
});
