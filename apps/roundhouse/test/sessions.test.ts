import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openAdminStandIn, type AdminStandIn } from './admin-stand-in.ts';
import { runCaptured } from './captured-terminal.ts';

const startedAt = new Date(Date.now() - 3 * 60_000).toISOString();

const exec = {
  id: '00000000000000aa',
  user: 'jane',
  cluster: 'alpha',
  verb: 'create',
  apiGroup: '',
  resource: 'pods',
  subresource: 'exec',
  namespace: 'web',
  name: 'web-0',
  protocol: 'SPDY/3.1',
  startedAt,
  bytesIn: 12,
  bytesOut: 1_500_000,
};
const proxy = {
  ...exec,
  id: '00000000000000bb',
  as: 'joe',
  cluster: 'beta',
  resource: 'services',
  subresource: 'proxy',
  name: 'shop',
  protocol: 'websocket',
};
const bare = {
  id: '00000000000000cc',
  user: 'ann',
  cluster: 'beta',
  verb: 'get',
  path: '/odd path',
  startedAt,
};
const sessions = [exec, proxy, bare];

const killPath = (id: string): string => `/debug/sessions/kill?id=${id}`;

/** Has these sessions, and ends each that it is asked to. */
function openAdmin(more: Readonly<Record<string, unknown>> = {}): Promise<AdminStandIn> {
  return openAdminStandIn({
    '/debug/sessions': { schemaVersion: 1, sessions },
    ...Object.fromEntries(sessions.map((each) => [`POST ${killPath(each.id)}`, { ended: each }])),
    ...more,
  });
}

/** What a gateway answers where there is no such session. */
function unknown(id: string): Record<string, unknown> {
  const message = `ERR_RH_SESSION_UNKNOWN: no session ${id} is open`;
  return { [`POST ${killPath(id)}`]: { status: 404, error: { code: 'ERR_RH_SESSION_UNKNOWN', message } } };
}

suite('sessions', () => {
  test('a table has who, where, what and how much; wide adds as whom and since when', async () => {
    await using admin = await openAdmin();
    const { exitCode, stdout, stderr } = await runCaptured(['sessions', '--admin', admin.url]);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    assert.equal(
      stdout,
      [
        'ID                 USER   CLUSTER   WHAT                             PROTOCOL    AGE   IN    OUT',
        '00000000000000aa   jane   alpha     exec web/web-0                   SPDY/3.1    3m    12B   1.4MiB',
        '00000000000000bb   jane   beta      create services/proxy web/shop   websocket   3m    12B   1.4MiB',
        '00000000000000cc   ann    beta      get /odd path                    <none>      3m    0B    0B',
        '',
      ].join('\n'),
    );
    const wide = (await runCaptured(['sessions', '-o', 'wide', '--admin', admin.url])).stdout.split('\n');
    assert.match(wide[0] ?? '', /^ID +USER +AS +CLUSTER .* OUT +STARTED$/);
    assert.match(wide[2] ?? '', /^0+bb +jane +joe +beta /);
    assert.ok(wide[1]?.endsWith(startedAt));
  });

  test('json carries everything that the gateway said; name is what kill takes', async () => {
    await using admin = await openAdmin();
    const json = await runCaptured(['sessions', '-o', 'json', '--admin', admin.url]);
    assert.deepEqual(JSON.parse(json.stdout), { schemaVersion: 1, kind: 'SessionList', items: sessions });
    const names = await runCaptured(['sessions', '-o', 'name', '--admin', admin.url]);
    assert.equal(names.stdout, sessions.map(({ id }) => `session/${id}\n`).join(''));
    const killed = await runCaptured([
      'sessions',
      'kill',
      ...names.stdout.trimEnd().split('\n'),
      '--admin',
      admin.url,
    ]);
    assert.equal(killed.exitCode, 0);
    assert.equal(killed.stdout.split('\n').length, 4);
  });

  test('none is said on stderr', async () => {
    await using admin = await openAdmin({ '/debug/sessions': { sessions: [] } });
    const { exitCode, stdout, stderr } = await runCaptured(['sessions', '--admin', admin.url]);
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: '' });
    assert.match(stderr, /^No sessions/);
  });
});

suite('sessions kill', () => {
  test('ends those that are named, once each, and says what they were', async () => {
    await using admin = await openAdmin();
    const ids = [exec.id, bare.id, exec.id];
    const { exitCode, stdout, stderr } = await runCaptured([
      'sessions',
      'kill',
      ...ids,
      '--admin',
      admin.url,
    ]);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    assert.equal(
      stdout,
      `session/${exec.id} ended: jane, exec web/web-0 on alpha\nsession/${bare.id} ended: ann, get /odd path on beta\n`,
    );
    assert.deepEqual(admin.requests, [killPath(exec.id), killPath(bare.id)]);
  });

  test('the gateway may be named before kill, too; what stands last wins', async () => {
    await using admin = await openAdmin();
    const nobody = ['--admin', 'http://127.0.0.1:9'];
    const there = ['--admin', admin.url];
    for (const args of [
      ['sessions', ...there, 'kill', exec.id],
      ['sessions', ...nobody, 'kill', exec.id, ...there],
    ]) {
      assert.equal((await runCaptured(args)).exitCode, 0, args.join(' '));
    }
    assert.equal(admin.requests.length, 2);
  });

  test('one that is not open: exit 1 and the code; where others were ended: exit 5', async () => {
    await using admin = await openAdmin({ ...unknown('dd'), ...unknown('ee') });
    const run = (...ids: string[]) => runCaptured(['sessions', 'kill', ...ids, '--admin', admin.url]);
    const one = await run('dd');
    assert.deepEqual([one.exitCode, one.stdout], [1, '']);
    assert.match(one.stderr, /^error: ERR_RH_SESSION_UNKNOWN: no session dd is open\n"roundhouse explain/);
    const none = await run('dd', 'ee');
    assert.deepEqual([none.exitCode, none.stdout], [1, '']);
    assert.match(
      none.stderr,
      /no session dd is open\n.*no session ee is open\nerror: 2 of 2 sessions were not ended/,
    );
    const some = await run('dd', exec.id);
    assert.deepEqual([some.exitCode, some.stdout.split(' ')[0]], [5, `session/${exec.id}`]);
    assert.match(some.stderr, /no session dd is open\nerror: 1 of 2 sessions were not ended/);
  });

  for (const [flags, ended] of [
    [[], sessions],
    [
      ['--cluster', 'beta'],
      [proxy, bare],
    ],
    [
      ['--user', 'jane'],
      [exec, proxy],
    ],
    [['--cluster', 'beta', '--user', 'jane'], [proxy]],
    [['--user', 'nobody'], []],
  ] as const) {
    test(`--all ${flags.join(' ')} ends ${ended.length}`, async () => {
      await using admin = await openAdmin();
      const args = ['sessions', 'kill', '--all', ...flags, '--admin', admin.url];
      const { exitCode, stdout, stderr } = await runCaptured(args);
      assert.equal(exitCode, 0);
      assert.deepEqual(
        stdout
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => line.split(' ')[0]),
        ended.map(({ id }) => `session/${id}`),
      );
      assert.equal(stderr, ended.length === 0 ? 'No session was open.\n' : '');
    });
  }

  test('--all: one that has ended by itself meanwhile is no failure', async () => {
    await using admin = await openAdmin(unknown(proxy.id));
    const { exitCode, stdout, stderr } = await runCaptured([
      'sessions',
      'kill',
      '--all',
      '--admin',
      admin.url,
    ]);
    assert.deepEqual([exitCode, stdout.split('\n').length - 1, stderr], [0, 2, '']);
  });

  for (const [name, args, says] of [
    ['nothing is named', [], /say which/],
    ['both ids and --all', ['aa', '--all'], /name sessions, or say --all/],
    ['--cluster without --all', ['--cluster', 'alpha'], /go with --all/],
    ['a format of the listing', ['aa', '-o', 'json'], /--output is for listing sessions/],
    ['ids and --user', ['aa', '--user', 'jane'], /go with --all/],
    ['an option of the listing', ['aa', '--watch'], /--watch is for listing sessions/],
  ] as const) {
    test(`${name}: exit 2, and the gateway is not asked`, async () => {
      await using admin = await openAdmin();
      const { exitCode, stderr } = await runCaptured(['sessions', 'kill', ...args, '--admin', admin.url]);
      assert.equal(exitCode, 2);
      assert.match(stderr, says);
      assert.deepEqual(admin.requests, []);
    });
  }

  test('a gateway that takes no actions from there: exit 1, in its words', async () => {
    await using admin = await openAdmin({
      [`POST ${killPath('aa')}`]: {
        status: 403,
        text: 'actions are taken at a loopback address\u001b[2J only\n',
      },
    });
    const { exitCode, stderr } = await runCaptured(['sessions', 'kill', 'aa', '--admin', admin.url]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^error: http:\S+ refused: actions are taken at a loopback address \[2J only$/m);
  });

  test('a gateway that is not there: exit 4', async () => {
    const { exitCode } = await runCaptured(['sessions', 'kill', 'aa', '--admin', 'http://127.0.0.1:9']);
    assert.equal(exitCode, 4);
  });
});
