import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import { openAdminStandIn } from './admin-stand-in.ts';
import { runCaptured } from './captured-terminal.ts';

async function openFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'roundhouse-kubeconfig-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** A kubeconfig for clusters of a gateway that is not asked. */
const make = ['kubeconfig', '--server', 'https://127.0.0.1:7443', '--cluster'];

const own = `# mine, do not lose this
apiVersion: v1
kind: Config
current-context: home
clusters:
  - name: home # the small one
    cluster: { server: "https://home:6443" }
  - name: alpha
    cluster: { server: "https://old:1" }
contexts:
  - name: home
    context: { cluster: home, user: me }
users:
  - name: me
    user: { token: planted-secret }
`;

suite('kubeconfig', () => {
  test('a cluster that the gateway does not have is a mistake that names those it has', async () => {
    await using admin = await openAdminStandIn({
      '/debug/clusters': { url: 'http://127.0.0.1:7443', clusters: [{ name: 'a', path: '/clusters/a' }] },
    });
    const { exitCode, stderr } = await runCaptured(['kubeconfig', '--cluster', 'z', '--admin', admin.url]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /no cluster "z"; it has a/);
  });

  test('named clusters make a kubeconfig on stdout without a gateway', async () => {
    const { exitCode, stdout, stderr } = await runCaptured([
      'kubeconfig',
      '--cluster',
      'alpha',
      'be/ta',
      '--server',
      'http://127.0.0.1:1',
    ]);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
    assert.deepEqual(parse(stdout), {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'alpha', cluster: { server: 'http://127.0.0.1:1/clusters/alpha' } },
        { name: 'be/ta', cluster: { server: 'http://127.0.0.1:1/clusters/be-ta-7c30057d' } },
      ],
      users: [],
      contexts: [
        { name: 'alpha', context: { cluster: 'alpha' } },
        { name: 'be/ta', context: { cluster: 'be/ta' } },
      ],
      'current-context': 'alpha',
    });
  });

  test('without --cluster it has all that the running gateway has', async () => {
    await using admin = await openAdminStandIn({
      '/debug/clusters': {
        url: 'http://127.0.0.1:7443',
        clusters: [
          { name: 'a', path: '/clusters/a' },
          { name: 'b', path: '/clusters/b' },
        ],
      },
    });
    const { stdout } = await runCaptured(['kubeconfig', '--admin', admin.url, '--set-current', 'b']);
    const written = parse(stdout) as { contexts: { name: string }[]; 'current-context': string };
    assert.deepEqual(
      written.contexts.map(({ name }) => name),
      ['a', 'b'],
    );
    assert.equal(written['current-context'], 'b');
  });

  test('credentials are named by absolute path and never copied', async () => {
    await using folder = await openFolder();
    const token = join(folder.path, 'token');
    const ca = join(folder.path, 'ca.pem');
    await writeFile(token, 'planted-secret');
    await writeFile(ca, 'certificate');
    const { stdout } = await runCaptured([
      ...make,
      'a',
      '--token-file',
      token,
      '--certificate-authority',
      ca,
      '--prefix',
      'rh-',
    ]);
    assert.ok(!stdout.includes('planted-secret'));
    assert.deepEqual(parse(stdout), {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'rh-a',
          cluster: { server: 'https://127.0.0.1:7443/clusters/a', 'certificate-authority': ca },
        },
      ],
      users: [{ name: 'rh-roundhouse', user: { tokenFile: token } }],
      contexts: [{ name: 'rh-a', context: { cluster: 'rh-a', user: 'rh-roundhouse' } }],
      'current-context': 'rh-a',
    });
  });

  test('a file is written for its owner only, and not over another unless told so', async () => {
    await using folder = await openFolder();
    const file = join(folder.path, 'new', 'kubeconfig');
    const write = (...more: string[]) => runCaptured([...make, 'a', '--output', file, ...more]);
    const first = await write();
    assert.deepEqual({ exitCode: first.exitCode, stdout: first.stdout }, { exitCode: 0, stdout: '' });
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const second = await write('--prefix', 'x-');
    assert.equal(second.exitCode, 3);
    assert.match(second.stderr, /exists; --merge adds to it, --force replaces it/);
    assert.equal((await write('--prefix', 'x-', '--force')).exitCode, 0);
    assert.match(await readFile(file, 'utf8'), /current-context: x-a/);
    assert.deepEqual(await readdir(join(folder.path, 'new')), ['kubeconfig']);
  });

  test('--merge replaces entries of the same name and leaves everything else, comments included', async () => {
    await using folder = await openFolder();
    const file = join(folder.path, 'config');
    await writeFile(file, own);
    const { exitCode, stdout } = await runCaptured([...make, 'alpha', 'beta', '--merge'], {
      env: { KUBECONFIG: `${file}:/nowhere/else` },
    });
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: '' });
    const text = await readFile(file, 'utf8');
    assert.match(text, /^# mine, do not lose this/);
    assert.match(text, /# the small one/);
    const merged = parse(text) as Record<string, { name: string; cluster?: { server: string } }[]>;
    assert.equal(merged['current-context'], 'home');
    assert.deepEqual(
      merged['clusters']?.map(({ name, cluster }) => [name, cluster?.server]),
      [
        ['home', 'https://home:6443'],
        ['alpha', 'https://127.0.0.1:7443/clusters/alpha'],
        ['beta', 'https://127.0.0.1:7443/clusters/beta'],
      ],
    );
    assert.deepEqual(
      merged['contexts']?.map(({ name }) => name),
      ['home', 'alpha', 'beta'],
    );
    assert.deepEqual(
      merged['users']?.map(({ name }) => name),
      ['me'],
    );
  });

  test('--merge follows a symbolic link and makes a file that is not there', async () => {
    await using folder = await openFolder();
    const file = join(folder.path, 'real');
    const link = join(folder.path, 'link');
    await writeFile(file, own);
    await symlink(file, link);
    assert.equal((await runCaptured([...make, 'a', '--merge', '--output', link])).exitCode, 0);
    assert.match(await readFile(file, 'utf8'), /clusters\/a/);
    assert.ok((await readdir(folder.path)).length === 2);
    const fresh = join(folder.path, 'fresh');
    assert.equal((await runCaptured([...make, 'a', '--merge', '--output', fresh])).exitCode, 0);
    assert.match(await readFile(fresh, 'utf8'), /current-context: a/);
  });

  for (const { name, text } of [
    { name: 'not YAML', text: '{ unclosed' },
    { name: 'no kubeconfig', text: 'apiVersion: v1\nkind: Pod\n' },
    {
      name: 'a kubeconfig whose clusters are no list',
      text: 'apiVersion: v1\nkind: Config\nclusters: none\n',
    },
  ]) {
    test(`--merge into a file that is ${name} changes nothing and exits with 3`, async () => {
      await using folder = await openFolder();
      const file = join(folder.path, 'config');
      await writeFile(file, text);
      const { exitCode, stderr } = await runCaptured([...make, 'a', '--merge', '--output', file]);
      assert.equal(exitCode, 3);
      assert.ok(stderr.includes(file));
      assert.equal(await readFile(file, 'utf8'), text);
    });
  }

  for (const { args, exitCode, says } of [
    { args: ['--server', 'ftp://x'], exitCode: 2, says: /--server "ftp:\/\/x" is not/ },
    { args: ['--server', 'https://x/path'], exitCode: 2, says: /of host and port only/ },
    { args: ['--client-key', 'k'], exitCode: 2, says: /belong together/ },
    { args: ['--force'], exitCode: 2, says: /--force needs --output/ },
    { args: ['--set-current', 'z'], exitCode: 2, says: /--set-current z is none of the contexts/ },
    {
      args: ['--token-file', '/nowhere/token'],
      exitCode: 3,
      says: /--token-file \/nowhere\/token cannot be read/,
    },
  ]) {
    test(`"${args.join(' ')}" exits with ${exitCode}`, async () => {
      const outcome = await runCaptured([...make, 'a', ...args]);
      assert.equal(outcome.exitCode, exitCode);
      assert.match(outcome.stderr, says);
      assert.equal(outcome.stdout, '');
    });
  }
});
