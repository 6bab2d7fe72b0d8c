/** How a process ends: by itself, by its own failure, or because it is killed. */

import { BrokenPipe } from '../byte-pipe.ts';
import { print, type ProcessContext, type Program } from './program.ts';

/** As after SIGKILL and SIGPIPE. */
const exitCode = { killed: 137, brokenPipe: 141 } as const;

/** The exit code. Does not wait for a program that was killed. Never rejects. */
export async function runProgram(program: Program, context: ProcessContext): Promise<number> {
  const { promise: killed, resolve } = Promise.withResolvers<number>();
  const kill = (): void => resolve(exitCode.killed);
  context.signal.addEventListener('abort', kill, { once: true });
  if (context.signal.aborted) kill();
  try {
    return await Promise.race([killed, outcomeOf(program, context)]);
  } finally {
    context.signal.removeEventListener('abort', kill);
  }
}

async function outcomeOf(program: Program, context: ProcessContext): Promise<number> {
  const { args, stderr, signal } = context;
  try {
    return await program(context);
  } catch (error) {
    if (error instanceof BrokenPipe || signal.aborted) return exitCode.brokenPipe;
    const message = error instanceof Error ? error.message : String(error);
    await print(stderr, `${args[0] ?? ''}: ${message}\n`).catch(() => {});
    return 1;
  }
}
