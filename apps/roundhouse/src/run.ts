// One run of the command line: arguments in, exit code out. Nothing here ends the process.

import { StoppedBySignal } from '@roundhouse/process/signals';
import { CommanderError } from 'commander';
import { isCatalogued } from './catalogued-error.ts';
import { AnswerIsNo, CommandError } from './command-error.ts';
import { commandList } from './commands/command-list.ts';
import type { Context } from './context.ts';
import { exitCodes } from './exit-codes.ts';
import { createProgram } from './program.ts';

/** `args`: what follows the program's name. Resolves to the exit code; what went wrong has been said on stderr. */
export async function runCommandLine(args: readonly string[], context: Context): Promise<number> {
  try {
    const program = await createProgram(context, (name) => isWanted(name, args));
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: 'user' });
    return exitCodes.ok;
  } catch (error) {
    return explainFailure(error, context);
  }
}

/** The named command; all of them for what walks the whole tree. */
function isWanted(name: string, args: readonly string[]): boolean {
  const words = args.filter((argument) => commandList.some((entry) => entry.name === argument));
  return words[0] === 'completion' || words.includes(name);
}

function explainFailure(error: unknown, { terminal, signal }: Context): number {
  // Commander has printed what it had to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (signal.aborted) return isTerminated(signal) ? exitCodes.terminated : exitCodes.interrupted;
  if (error instanceof AnswerIsNo) return exitCodes.finding;
  const label = terminal.style('red', 'error:', terminal.stderr);
  if (error instanceof CommandError || isCatalogued(error)) {
    const catalogued = isCatalogued(error) ? error : error.cause;
    const hint = isCatalogued(catalogued) ? `\n"roundhouse explain ${catalogued.code}" says more.` : '';
    terminal.note(`${label} ${error.message}${hint}`);
    return error instanceof CommandError ? error.exitCode : exitCodes.finding;
  }
  // Not foreseen: the stack is what a report of it needs.
  terminal.note(`${label} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return exitCodes.finding;
}

function isTerminated({ reason }: AbortSignal): boolean {
  return reason instanceof StoppedBySignal && reason.signalName === 'SIGTERM';
}
