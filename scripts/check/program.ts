// Runs a program of node_modules as a step: silent when it is content, everything it said when it is not.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { repositoryRoot } from '../repository.ts';

const binaries = join(repositoryRoot, 'node_modules/.bin');

/** Starts `node_modules/.bin/<name>` in `root`; what it printed is the one problem when it exits with anything but 0. */
export async function runProgram(
  root: string,
  name: string,
  args: readonly string[],
): Promise<readonly string[]> {
  return run(root, join(binaries, name), args);
}

/** The same for a script of ours, on the Node that this one runs on. */
export async function runScript(
  root: string,
  script: string,
  args: readonly string[],
): Promise<readonly string[]> {
  return run(root, process.execPath, [
    '--conditions=@roundhouse/source',
    join(repositoryRoot, script),
    ...args,
  ]);
}

async function run(root: string, file: string, args: readonly string[]): Promise<readonly string[]> {
  // oxlint looks for its second half on the PATH, which is ours only when npm started us.
  const env = { ...process.env, PATH: [binaries, process.env['PATH']].join(delimiter) };
  const child = spawn(file, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return code === 0 ? [] : [[out.trimEnd(), err.trimEnd()].filter((part) => part !== '').join('\n')];
}
