import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { openAdminStandIn } from './admin-stand-in.ts';
import { runCaptured } from './captured-terminal.ts';

const rules = `
version: 1
rules:
  - name: readers
    groups: [dev]
    clusters: [alpha]
    verbs: [get, list]
    apiGroups: ['', apps]
    resources: [pods, pods/log, deployments]
    namespaces: [web]
  - name: never
    effect: deny
    groups: ['*']
    clusters: ['*']
    verbs: [create]
    apiGroups: ['']
    resources: [pods/exec]
    namespaces: ['*']
`;

suite('auth can-i', () => {
  let folder = '';
  let file = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundhouse-auth-'));
    file = join(folder, 'rules.yaml');
    await writeFile(file, rules);
  });
  after(() => rm(folder, { recursive: true }));

  const canI = (...args: string[]) =>
    runCaptured(['auth', 'can-i', ...args, '--as', 'jane', '--as-group', 'dev', '--authorization', file]);

  test('yes is exit 0, no is exit 1, and both name the rule or say that there is none', async () => {
    for (const [args, exitCode, stdout] of [
      [['list', 'pods', '-n', 'web'], 0, 'yes: rule "readers" allows it\n'],
      [['get', 'pods/log', 'web-0', '-n', 'web'], 0, 'yes: rule "readers" allows it\n'],
      [['get', 'pods', 'web-0', '--subresource', 'log', '-n', 'web'], 0, 'yes: rule "readers" allows it\n'],
      [['get', 'deployments.apps', '-n', 'web'], 0, 'yes: rule "readers" allows it\n'],
      [
        ['get', 'pods/exec', 'web-0', '-n', 'web'],
        1,
        'no: rule "never" denies it, whatever else allows it\n',
      ],
    ] as const) {
      assert.deepEqual(
        await canI(...args, '--cluster', 'alpha'),
        { exitCode, stdout, stderr: '' },
        args.join(' '),
      );
    }
    const none = await canI('delete', 'pods', 'web-0', '-n', 'web', '--cluster', 'alpha');
    assert.deepEqual([none.exitCode, none.stderr], [1, '']);
    assert.match(none.stdout, /^no: none of the 2 rules .* allows delete on pods\n$/);
    assert.match((await canI('get', '/version', '--cluster', 'beta')).stdout, /^no: none of the 1 rules/);
  });

  test('-o json has the decision, the rule and what was decided on', async () => {
    const { stdout, exitCode } = await canI('list', 'pods', '--cluster', 'alpha', '-o', 'json');
    assert.equal(exitCode, 1);
    const { allowed, rule, action } = JSON.parse(stdout);
    assert.deepEqual([allowed, rule, action.verb, action.namespace], [false, null, 'list', '']);
  });

  test('--list has the rules that speak of the user', async () => {
    const { stdout, exitCode } = await canI('--list');
    assert.equal(exitCode, 0);
    assert.match(stdout, /^readers +allow +alpha +get,list +pods,pods\/log,deployments +"",apps +web /m);
    assert.match(stdout, /^never +deny /m);
    assert.doesNotMatch((await canI('--list', '--cluster', 'beta')).stdout, /readers/);
  });

  test('a running gateway is asked with all that was said', async () => {
    const query =
      'user=j%26k&group=a&group=b&cluster=team%2Fb&verb=get&resource=deployments%2Fscale&apiGroup=apps&namespace=web&name=d';
    await using admin = await openAdminStandIn({
      [`/debug/authorization?${query}`]: { allowed: false, rule: 'x', reason: 'rule "x" denies it' },
    });
    const words = 'auth can-i get deployments.apps/scale d -n web --cluster team/b --as j&k --as-group a b';
    const { stdout, exitCode } = await runCaptured([...words.split(' '), '--admin', admin.url]);
    assert.deepEqual([exitCode, stdout], [1, 'no: rule "x" denies it\n'], admin.requests.join());
  });

  test('a configuration file names the file that is asked', async () => {
    const config = join(folder, 'gateway.yaml');
    const ask = () =>
      runCaptured(['auth', 'can-i', 'get', 'pods', '--cluster', 'alpha', '--as', 'x', '--config', config]);
    await writeFile(config, 'authorizationFile: rules.yaml\n');
    assert.equal((await ask()).exitCode, 1);
    await writeFile(config, 'kubeconfigs: [x]\n');
    assert.equal((await ask()).exitCode, 3);
  });

  test('a file that is wrong is exit 3 with its lines, what is left out is exit 2', async () => {
    const bad = join(folder, 'bad.yaml');
    await writeFile(bad, 'version: 1\nrule: []\n');
    const wrong = await runCaptured([
      'auth',
      'can-i',
      'get',
      'pods',
      '--cluster',
      'a',
      '--as',
      'j',
      '--authorization',
      bad,
    ]);
    assert.equal(wrong.exitCode, 3);
    assert.match(wrong.stderr, /line 2: unknown key rule; did you mean rules\?/);
    for (const args of [
      ['get', 'pods', '--cluster', 'a'],
      ['get', '--as', 'j'],
      ['get', 'pods', '--as', 'j'],
    ]) {
      assert.equal((await runCaptured(['auth', 'can-i', ...args])).exitCode, 2, args.join(' '));
    }
  });
});
