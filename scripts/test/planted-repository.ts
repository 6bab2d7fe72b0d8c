// A small repository in a temporary folder, for planting a violation in.

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface PlantedRepository extends AsyncDisposable {
  readonly root: string;
}

/** `files`: path to content. Everything counts as about to be committed. Removed with `await using`. */
export async function plantRepository(files: Readonly<Record<string, string>>): Promise<PlantedRepository> {
  const root = await mkdtemp(join(tmpdir(), 'roundhouse-check-'));
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
  return { root, [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
}
