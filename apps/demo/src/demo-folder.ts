// The folder that the demo writes its kubeconfigs to. It belongs to one demo at a time, and is gone when that ends.

import { rmdirSync, rmSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DemoError } from './demo-error.ts';

const ownerFile = 'demo.pid';

export class DemoFolder implements Disposable {
  readonly path: string;
  readonly #written: string[] = [ownerFile];

  private constructor(path: string) {
    this.path = path;
  }

  /** Throws a DemoError when another demo that is alive owns the folder. */
  static async open(path: string): Promise<DemoFolder> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await claim(join(path, ownerFile), path);
    return new DemoFolder(path);
  }

  /** For its owner's eyes only: there are credentials in it, if only of simulated clusters. */
  async write(name: string, content: string): Promise<string> {
    const file = join(this.path, name);
    this.#written.push(name);
    await writeFile(file, content, { mode: 0o600 });
    return file;
  }

  /** Synchronous, so that the second ctrl-C leaves nothing behind either. What others put there stays. */
  [Symbol.dispose](): void {
    for (const name of this.#written.splice(0)) rmSync(join(this.path, name), { force: true });
    try {
      rmdirSync(this.path);
    } catch {
      // Not empty: somebody else keeps something there.
    }
  }
}

async function claim(file: string, folder: string): Promise<void> {
  for (const flag of ['wx', 'w'] as const) {
    try {
      await writeFile(file, `${process.pid}\n`, { flag, mode: 0o600 });
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      const owner = Number(await readFile(file, 'utf8').catch(() => ''));
      if (isAlive(owner)) {
        throw new DemoError(
          `a demo runs in ${folder} already (process ${owner}); stop it, or give this one another --folder`,
        );
      }
      // Left by one that was killed: the second round takes it over.
    }
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
