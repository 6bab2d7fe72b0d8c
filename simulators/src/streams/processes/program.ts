/** What runs in a simulated container: a function with a process's ends. There is no shell and no system below it. */

import type { Clock } from '../../kube-apiserver/clock.ts';
import type { ByteSink, ByteSource } from '../byte-pipe.ts';
import type { FileTree } from './file-tree.ts';

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ProcessTerminal {
  readonly size: TerminalSize;
  /** Told of ctrl-C instead of being killed by it, until it is disposed of. The last to come is the one that is told. */
  onInterrupt(listener: () => void): Disposable;
}

export interface ProcessContext {
  /** The first is the name that the program was called by. */
  readonly args: readonly string[];
  readonly stdin: ByteSource;
  readonly stdout: ByteSink;
  readonly stderr: ByteSink;
  /** Undefined without a terminal. */
  readonly terminal: ProcessTerminal | undefined;
  readonly files: FileTree;
  readonly hostname: string;
  /** Where relative paths begin. */
  readonly directory: string;
  readonly programs: ReadonlyMap<string, Program>;
  readonly clock: Clock;
  /** Aborted when the process is killed: its client or its container has gone. */
  readonly signal: AbortSignal;
}

/** Resolves with the exit code. */
export type Program = (context: ProcessContext) => Promise<number>;

export async function print(sink: ByteSink, text: string): Promise<void> {
  await sink.write(Buffer.from(text));
}

/** By its name or by the last part of its path. */
export function programNamed(programs: ReadonlyMap<string, Program>, command: string): Program | undefined {
  return programs.get(command.slice(command.lastIndexOf('/') + 1));
}

/** Resolves when the time is over, or the process is killed. */
export async function pause({ clock, signal }: ProcessContext, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  const timer = clock.setTimeout(wake, ms);
  signal.addEventListener('abort', wake, { once: true });
  if (signal.aborted) wake();
  await promise;
  timer.cancel();
  signal.removeEventListener('abort', wake);
}
