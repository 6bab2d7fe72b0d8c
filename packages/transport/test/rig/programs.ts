/** Runs a small program over the package in a process of its own, for what only the end of a process shows. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From the last line on standard output to the end of the process. */
  readonly exitedAfterMs: number;
}

/** @param source the body of a module; it may import `@roundhouse/transport` and anything of Node.js */
export async function run(source: string, timeoutMs = 20_000): Promise<Ran> {
  const child = spawn(
    process.execPath,
    ['--conditions=@roundhouse/source', '--expose-gc', '--input-type=module-typescript', '--eval', source],
    {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    },
  );
  let lastWordAt = performance.now();
  child.stdout.on('data', () => {
    lastWordAt = performance.now();
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await once(child, 'exit');
  const exitedAfterMs = performance.now() - lastWordAt;
  const [stdout, stderr] = await output;
  return { code: typeof code === 'number' ? code : null, stdout, stderr, exitedAfterMs };
}
