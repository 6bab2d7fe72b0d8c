import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { TestContext } from 'node:test';
import { FileFollower } from '@roundhouse/transport';

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'roundhouse-follower-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

interface Seen {
  readonly values: string[];
  readonly errors: string[];
  /** Resolves at the next change or error. */
  next(): Promise<void>;
}

async function follow(
  paths: readonly string[],
  options: { intervalMs?: number; minGapMs?: number } = {},
): Promise<{ follower: FileFollower<string>; seen: Seen; loads: () => number }> {
  const values: string[] = [];
  const errors: string[] = [];
  let wake = Promise.withResolvers<void>();
  let loads = 0;
  const notify = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const follower = await FileFollower.open({
    intervalMs: 3_600_000,
    minGapMs: 1,
    ...options,
    load: async (read) => {
      loads += 1;
      const texts = await Promise.all(paths.map(async (path) => (await read(path)).toString()));
      const bad = texts.find((text) => text === '' || text.startsWith('bad'));
      if (bad !== undefined) throw new Error(`cannot use "${bad}"`);
      return texts.join('+');
    },
    onChange: (value) => {
      values.push(value);
      notify();
    },
    onError: (error) => {
      errors.push(error.message);
      notify();
    },
  });
  return { follower, seen: { values, errors, next: () => wake.promise }, loads: () => loads };
}

test('a file that is replaced by another one is noticed by its event', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'file');
  await writeFile(path, 'one');
  const { follower, seen } = await follow([path]);
  await using _owned = follower;
  assert.equal(follower.value, 'one');
  const changed = seen.next();
  await writeFile(join(folder, 'new'), 'two');
  await rename(join(folder, 'new'), path);
  await changed;
  assert.deepEqual(seen.values, ['two']);
  assert.equal(follower.value, 'two');
});

test('the swap of the ..data link of a Kubernetes volume is noticed', async (t) => {
  const folder = await temporaryFolder(t);
  for (const generation of ['1', '2']) {
    await mkdir(join(folder, `..${generation}`));
    await writeFile(join(folder, `..${generation}`, 'token'), generation);
  }
  await symlink('..1', join(folder, '..data'));
  await symlink('..data/token', join(folder, 'token'));
  const { follower, seen } = await follow([join(folder, 'token')]);
  await using _owned = follower;
  const changed = seen.next();
  await symlink('..2', join(folder, '..data_tmp'));
  await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  await changed;
  assert.deepEqual(seen.values, ['2']);
});

test('without an event the interval notices a change', async (t) => {
  const folder = await temporaryFolder(t);
  const middle = await temporaryFolder(t);
  const behind = await temporaryFolder(t);
  await writeFile(join(behind, 'one'), 'one');
  await writeFile(join(behind, 'two'), 'two');
  await symlink(join(behind, 'one'), join(middle, 'link'));
  await symlink(join(middle, 'link'), join(folder, 'file'));
  const { follower, seen } = await follow([join(folder, 'file')], { intervalMs: 50 });
  await using _owned = follower;
  const changed = seen.next();
  // The folder in the middle is neither that of the name nor that of the file, so nobody hears of this.
  await symlink(join(behind, 'two'), join(middle, 'next'));
  await rename(join(middle, 'next'), join(middle, 'link'));
  await changed;
  assert.deepEqual(seen.values, ['two']);
});

test('equal content is no change, however often it is written', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'file');
  await writeFile(path, 'one');
  const { follower, seen, loads } = await follow([path]);
  await using _owned = follower;
  for (let index = 0; index < 5; index += 1) {
    await writeFile(join(folder, 'new'), 'one');
    await rename(join(folder, 'new'), path);
    await follower.look();
  }
  assert.deepEqual(seen.values, []);
  assert.equal(loads(), 1);
});

test('bad content is told once, the last good value stays, and reverting is no change of the value', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'file');
  await writeFile(path, 'one');
  const { follower, seen } = await follow([path]);
  await using _owned = follower;
  await writeFile(path, '');
  await follower.look();
  await follower.look();
  assert.deepEqual(seen.errors, ['cannot use ""']);
  assert.equal(follower.value, 'one');
  assert.match(follower.error?.message ?? '', /cannot use/);
  await rm(path);
  await follower.look();
  assert.equal(follower.value, 'one');
  assert.equal(seen.errors.length, 2);
  await writeFile(path, 'two');
  await follower.look();
  assert.equal(follower.value, 'two');
  assert.equal(follower.error, undefined);
});

test('of several files that were read, each is followed', async (t) => {
  const folder = await temporaryFolder(t);
  const paths = [join(folder, 'a'), join(folder, 'b')];
  await Promise.all(paths.map((path) => writeFile(path, path.slice(-1))));
  const { follower, seen } = await follow(paths);
  await using _owned = follower;
  const changed = seen.next();
  await writeFile(join(folder, 'b'), 'B');
  await changed;
  // The writer truncates first, and the moment between is bad content that is told and survived.
  while (seen.values.length === 0) await seen.next();
  assert.equal(seen.values.at(-1), 'a+B');
});

test('a file above the limit is refused without being read', async () => {
  await assert.rejects(follow(['/dev/zero']), /is not a file/);
  const open = FileFollower.open({
    load: async (read) => (await read(process.execPath)).length,
    maxBytes: 1024,
    onChange: () => {},
    onError: () => {},
  });
  await assert.rejects(open, /larger than 1024 bytes/);
});

test('BB-09: followers that were disposed leave no watch behind, and the last one ends the process by itself', async (t) => {
  const folders = await Promise.all(Array.from({ length: 20 }, () => temporaryFolder(t)));
  const followers: FileFollower<string>[] = [];
  for (const folder of folders) {
    await writeFile(join(folder, 'file'), 'one');
    followers.push((await follow([join(folder, 'file')])).follower);
  }
  assert.equal(await watches(), folders.length);
  await Promise.all(followers.map((follower) => follower[Symbol.asyncDispose]()));
  assert.equal(await watches(), 0);
});

/** Watches that this process holds, as the kernel counts them. */
async function watches(): Promise<number> {
  let count = 0;
  for (const descriptor of await readdir('/proc/self/fdinfo')) {
    const text = await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8').catch(() => '');
    count += text.match(/^inotify wd:/gm)?.length ?? 0;
  }
  return count;
}

test('a pipe in the place of the file is an error and holds nobody up, and the file is read again when it is back', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'file');
  await writeFile(path, 'one');
  const { follower, seen } = await follow([path]);
  await using _follower = follower;
  const failed = seen.next();
  await rm(path);
  await promisify(execFile)('mkfifo', [path]);
  await failed;
  // The event of the removal may have been looked at before the pipe was there.
  while (!seen.errors.some((message) => message.endsWith('is not a file'))) await seen.next();
  assert.equal(follower.value, 'one');
  const changed = seen.next();
  await writeFile(`${path}.new`, 'two');
  await rename(`${path}.new`, path);
  await changed;
  assert.deepEqual(seen.values, ['two']);
});
