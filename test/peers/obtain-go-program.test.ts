import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { obtainGoProgram, whyNoGoPrograms } from './obtain-go-program.ts';

interface Place extends AsyncDisposable {
  readonly folder: string;
  /** Where what was built is kept. */
  readonly cache: string;
  /** An environment with this folder as its cache, and a `go` that does what the script says. */
  readonly withGo: (script: string) => Promise<NodeJS.ProcessEnv>;
}

async function openPlace(): Promise<Place> {
  const temporary = await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-go-test-'));
  const folder = temporary.path;
  return {
    folder,
    cache: path.join(folder, 'roundhouse', 'go-programs'),
    withGo: async (script) => {
      const bin = path.join(folder, 'bin');
      await mkdir(bin, { recursive: true });
      await writeFile(path.join(bin, 'go'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return { XDG_CACHE_HOME: folder, PATH: `${bin}:/usr/bin:/bin` };
    },
    [Symbol.asyncDispose]: async () => temporary[Symbol.asyncDispose](),
  };
}

/** Writes itself to what follows `-o`, and says so as go does: a line a package. */
const builds = `echo an/imported/package >&2
while [ "$1" != -o ]; do shift; done
cp "$0" "$2"`;

test('a program is built once, also without Go the next time, and what an older module made goes', async () => {
  await using place = await openPlace();
  await mkdir(place.cache, { recursive: true });
  await writeFile(path.join(place.cache, 'etcd-0123456789abcdef'), 'older');
  await writeFile(path.join(place.cache, 'proxy-agent-0123456789abcdef'), 'of another program');
  const environment = await place.withGo(builds);
  const reports: string[] = [];
  const report = (line: string) => reports.push(line);
  const [one, other] = await Promise.all([
    obtainGoProgram('etcd', { environment, report }),
    obtainGoProgram('etcd', { environment, report }),
  ]);
  assert.equal(one, other);
  assert.match(await readFile(one, 'utf8'), /an\/imported\/package/);
  assert.deepEqual((await readdir(place.cache)).toSorted(), [
    path.basename(one),
    'proxy-agent-0123456789abcdef',
  ]);
  assert.match(reports.at(-1) ?? '', /^etcd: built in \d+ s$/);

  const without = { ...environment, PATH: path.join(place.folder, 'nothing') };
  assert.equal(await obtainGoProgram('etcd', { environment: without }), one);
  assert.equal(await whyNoGoPrograms(['etcd'], without), undefined);
});

test('the reason of a skip says which programs are missing, and what is wrong with Go', async () => {
  await using place = await openPlace();
  const nowhere = { XDG_CACHE_HOME: place.folder, PATH: path.join(place.folder, 'nothing') };
  const absent = await whyNoGoPrograms(['etcd', 'proxy-server'], nowhere);
  assert.match(absent ?? '', /^etcd, proxy-server not there, and no Go to build with \(.*ENOENT.*\)$/);
  const old = await place.withGo('echo "go: go.mod requires go >= 1.26.2 (running go 1.19)" >&2; exit 1');
  assert.match((await whyNoGoPrograms(['etcd'], old)) ?? '', /go\.mod requires go >= 1\.26\.2/);
  assert.equal(await whyNoGoPrograms(['etcd'], await place.withGo('exit 0')), undefined);
});

test('a build that fails says why, and leaves nothing behind', async () => {
  await using place = await openPlace();
  const environment = await place.withGo('echo "reading the module: 503" >&2; exit 1');
  await assert.rejects(
    obtainGoProgram('kube-apiserver', { environment, report: () => {} }),
    /kube-apiserver cannot be built:\nreading the module: 503/,
  );
  assert.deepEqual(await readdir(place.cache), []);
});

test('etcd and kube-apiserver are taken from KUBEBUILDER_ASSETS, and what is not in that folder is refused by name', async () => {
  await using place = await openPlace();
  const environment = { ...(await place.withGo('exit 1')), KUBEBUILDER_ASSETS: place.folder };
  const etcd = path.join(place.folder, 'etcd');
  await writeFile(etcd, '#!/bin/sh\n', { mode: 0o755 });
  assert.equal(await obtainGoProgram('etcd', { environment }), etcd);
  await assert.rejects(obtainGoProgram('kube-apiserver', { environment }), (error: Error) =>
    error.message.includes(path.join(place.folder, 'kube-apiserver')),
  );
  assert.equal(await whyNoGoPrograms(['etcd'], environment), undefined);
  assert.match((await whyNoGoPrograms(['proxy-agent'], environment)) ?? '', /^proxy-agent not there/);
});
