import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

const launcher = fileURLToPath(new URL('../bin/roundhouse.js', import.meta.url));

export type Spawned = ChildProcessByStdio<null, Readable, Readable>;

/** The command line as a process of its own, as a person starts it. */
export function spawnCommand(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Spawned {
  return spawn(process.execPath, [launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
}

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export async function ended(child: Spawned): Promise<Ended> {
  const exit = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await exit;
  return { exitCode: typeof code === 'number' ? code : null, stdout, stderr };
}
