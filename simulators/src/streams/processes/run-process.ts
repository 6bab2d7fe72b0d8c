/** Runs a program with the streams of a client: the one place where a client's process begins and ends. */

import { ConnectionGone } from '../byte-connection.ts';
import { BrokenPipe, BytePipe, type ByteSink, type ByteSource } from '../byte-pipe.ts';
import type { CommandOutcome, RemoteStreams } from '../remote-streams.ts';
import { runProgram } from './process-end.ts';
import { programNamed, type ProcessContext, type Program } from './program.ts';
import { Terminal } from './terminal.ts';

export interface ContainerContext extends Pick<ProcessContext, 'files' | 'hostname' | 'programs' | 'clock'> {
  /** Aborted when the container stops. */
  readonly stopped: AbortSignal;
}

/** As after SIGINT. */
const interruptedCode = 130;

/** Runs a command to its end, tells the client how it went, and ends the connection. Never rejects. */
export async function runCommand(
  streams: RemoteStreams,
  { command, tty }: { readonly command: readonly string[]; readonly tty: boolean },
  container: ContainerContext,
): Promise<void> {
  const [name = ''] = command;
  const program = programNamed(container.programs, name);
  if (program === undefined) await tell(streams, async () => ({ kind: 'failed', message: notFound(name) }));
  else await runAs(streams, { program, command, tty }, container);
}

/** The same for a program that nobody has named. */
export async function runAs(
  streams: RemoteStreams,
  process: { readonly program: Program; readonly command: readonly string[]; readonly tty: boolean },
  container: ContainerContext,
): Promise<void> {
  const { command } = process;
  await tell(streams, async () => ({
    kind: 'exited',
    code: await run(streams, process, container),
    command,
  }));
}

async function tell(streams: RemoteStreams, outcomeOf: () => Promise<CommandOutcome>): Promise<void> {
  try {
    const outcome = await outcomeOf();
    if (!streams.gone.aborted) await streams.finish(outcome);
  } catch (error) {
    if (error instanceof ConnectionGone || error instanceof BrokenPipe) return;
    await streams.finish({ kind: 'failed', message: String(error) }).catch(() => {});
  }
}

/** The exit code, when all output is with the client. */
async function run(
  streams: RemoteStreams,
  {
    program,
    command,
    tty,
  }: { readonly program: Program; readonly command: readonly string[]; readonly tty: boolean },
  container: ContainerContext,
): Promise<number> {
  const interrupted = new AbortController();
  const stdout = new BytePipe();
  const stderr = new BytePipe();
  const terminal = tty ? new Terminal(stdout, () => interrupted.abort()) : undefined;
  // A client that goes away while it types is noticed elsewhere.
  if (streams.stdin !== undefined) terminal?.type(streams.stdin).catch(() => {});
  if (streams.resizes !== undefined) terminal?.follow(streams.resizes).catch(() => {});
  const flushed = Promise.all([pump(stdout, streams.stdout), pump(stderr, streams.stderr)]);
  flushed.catch(() => {});
  const code = await runProgram(program, {
    ...container,
    args: command,
    stdin: terminal?.input ?? streams.stdin ?? (await noInput()),
    stdout: terminal?.output ?? stdout,
    stderr: terminal?.output ?? stderr,
    terminal,
    directory: '/',
    signal: AbortSignal.any([streams.gone, container.stopped, interrupted.signal]),
  });
  await stdout.end();
  await stderr.end();
  await flushed;
  return interrupted.signal.aborted ? interruptedCode : code;
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
