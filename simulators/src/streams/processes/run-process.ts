/** Runs a program with the streams of a client: the one place where a process begins and ends. */

import { BrokenPipe, BytePipe, type ByteSink, type ByteSource } from '../byte-pipe.ts';
import type { CommandOutcome, RemoteStreams } from '../remote-streams.ts';
import { ConnectionGone } from '../byte-connection.ts';
import { print, programNamed, type ProcessContext, type Program } from './program.ts';
import { Terminal } from './terminal.ts';

export interface ContainerContext extends Pick<ProcessContext, 'files' | 'hostname' | 'programs'> {
  /** Aborted when the container stops. */
  readonly stopped: AbortSignal;
}

export interface CommandRequest {
  readonly command: readonly string[];
  readonly tty: boolean;
}

/** As after SIGKILL, SIGPIPE and SIGINT. */
const exitCode = { killed: 137, brokenPipe: 141, interrupted: 130 } as const;

/** Runs it to its end, tells the client how it went, and ends the connection. Never rejects. */
export async function runCommand(
  streams: RemoteStreams,
  { command, tty }: CommandRequest,
  container: ContainerContext,
): Promise<void> {
  try {
    const program = programNamed(container.programs, command[0] ?? '');
    const outcome: CommandOutcome =
      program === undefined
        ? { kind: 'failed', message: notFound(command[0] ?? '') }
        : { kind: 'exited', code: await runProgram(program, streams, { command, tty }, container), command };
    if (!streams.gone.aborted) await streams.finish(outcome);
  } catch (error) {
    if (!(error instanceof ConnectionGone || error instanceof BrokenPipe)) {
      await streams.finish({ kind: 'failed', message: String(error) }).catch(() => {});
    }
  }
}

/** The code, when all output is with the client. */
async function runProgram(
  program: Program,
  streams: RemoteStreams,
  { command, tty }: CommandRequest,
  container: ContainerContext,
): Promise<number> {
  const killed = AbortSignal.any([streams.gone, container.stopped]);
  const interrupted = new AbortController();
  const stdout = new BytePipe();
  const stderr = new BytePipe();
  const terminal = tty ? new Terminal(stdout, () => interrupted.abort()) : undefined;
  const typed = streams.stdin === undefined ? Promise.resolve() : terminal?.type(streams.stdin);
  const resized = streams.resizes === undefined ? Promise.resolve() : terminal?.follow(streams.resizes);
  // A client that goes away while it types is noticed elsewhere.
  typed?.catch(() => {});
  resized?.catch(() => {});
  const flushed = Promise.all([pump(stdout, streams.stdout), pump(stderr, streams.stderr)]);
  flushed.catch(() => {});
  const context: ProcessContext = {
    ...container,
    args: command,
    stdin: terminal?.input ?? streams.stdin ?? (await noInput()),
    stdout: terminal?.output ?? stdout,
    stderr: terminal?.output ?? stderr,
    get terminalSize() {
      return terminal?.size;
    },
    directory: '/',
    signal: AbortSignal.any([killed, interrupted.signal]),
  };
  const code = await untilEnd(program, context, () =>
    killed.aborted ? exitCode.killed : exitCode.interrupted,
  );
  await stdout.end();
  await stderr.end();
  await flushed;
  return code;
}

async function untilEnd(program: Program, context: ProcessContext, codeOfEnd: () => number): Promise<number> {
  const { promise: killed, resolve } = Promise.withResolvers<number>();
  const kill = (): void => resolve(codeOfEnd());
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

async function pump(from: BytePipe, to: ByteSink | undefined): Promise<void> {
  try {
    for (let bytes = await from.read(); bytes !== undefined; bytes = await from.read())
      await to?.write(bytes);
  } finally {
    // The process feels it when nobody takes its output any more.
    from.close();
  }
}

async function noInput(): Promise<ByteSource> {
  const empty = new BytePipe();
  await empty.end();
  return empty;
}

function notFound(name: string): string {
  return (
    'error executing command in container: failed to exec in container: failed to create exec: OCI runtime exec failed: exec failed: ' +
    `unable to start container process: exec: ${JSON.stringify(name)}: executable file not found in $PATH: unknown`
  );
}
