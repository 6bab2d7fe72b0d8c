/** The machine and the sources, so that a number can be told from one that was measured elsewhere. */

import { execFile } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type as systemType } from 'node:os';
import { promisify } from 'node:util';

export function machineFacts(): Readonly<Record<string, string>> {
  const processors = cpus();
  return {
    CPU: processors[0]?.model ?? 'unknown',
    cores: String(processors.length),
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    system: `${systemType()} ${release()}`,
    'load before the run': loadavg()[0]?.toFixed(2) ?? 'unknown',
  };
}

/** The commit, with `+` behind when files that are not results differ from it; `unknown` outside a checkout. */
export async function commitOf(folder: string): Promise<string> {
  const git = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)('git', args, { cwd: folder })).stdout.trim();
  try {
    const commit = await git('rev-parse', '--short=12', 'HEAD');
    const changed = await git('status', '--porcelain', '--untracked-files=no', '--', 'apps', 'packages');
    return changed === '' ? commit : `${commit}+`;
  } catch {
    return 'unknown';
  }
}
