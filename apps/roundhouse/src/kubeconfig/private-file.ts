import { randomBytes } from 'node:crypto';
import { mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Writes a file that only its owner may read, whole or not at all. A symbolic link is followed. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const target = await realpath(path).catch(() => path);
  await mkdir(dirname(target), { recursive: true });
  const fresh = `${target}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(fresh, content, { mode: 0o600, flag: 'wx' });
    await rename(fresh, target);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
