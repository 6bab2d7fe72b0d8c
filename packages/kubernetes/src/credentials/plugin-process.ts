/**
 * One run of a credential plugin: a process group of its own, with a time limit and a bound on what it prints. However the run
 * ends, nothing of the group outlives it; a process that has left the group (setsid) is not ours any more.
 */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Clock, Timer } from '@roundhouse/transport';

/** An ExecCredential with a long chain is about 20 KiB. */
const maxPluginOutputBytes = 1_048_576;

/** Between SIGTERM and SIGKILL. */
const graceMs = 2_000;

/** The output of a process that has ended is waited for so long, where something that it has started keeps the pipe open. */
const lateOutputMs = 1_000;

export interface PluginRun {
  /** Absolute path. */
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** What it says on stderr goes to ours. Otherwise it goes nowhere: it may hold anything. */
  readonly showStderr: boolean;
  readonly clock: Clock;
  /** Ends it before its time, as the time limit does. */
  readonly signal: AbortSignal;
  /** Ends it at once, within the call that aborts: for the end of this process. */
  readonly killSignal: AbortSignal;
}

/** Of a run that gave no output to read; the message is a part of a sentence: `ended with exit code 1`. */
export class PluginFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PluginFailure';
  }
}

/**
 * What it printed on stdout. Settles when every process of its group is gone or has been sent SIGKILL.
 *
 * @throws PluginFailure
 */
export function runPlugin(run: PluginRun): Promise<Buffer> {
  return new PluginProcess(run).output;
}

class PluginProcess {
  readonly #run: PluginRun;
  readonly #output = Promise.withResolvers<Buffer>();
  readonly #chunks: Buffer[] = [];
  readonly #limit: Timer;
  #child: ChildProcess | undefined;
  #bytes = 0;
  /** Why it was told to end. */
  #stopped: PluginFailure | undefined;
  #kill: Timer | undefined;
  #late: Timer | undefined;

  constructor(run: PluginRun) {
    this.#run = run;
    this.#limit = run.clock.setTimeout(
      () => this.#stop(new PluginFailure(`did not end within ${run.timeoutMs / 1000} s`)),
      run.timeoutMs,
    );
    run.signal.addEventListener('abort', this.#aborted);
    run.killSignal.addEventListener('abort', this.#killed);
    this.#start();
    if (run.signal.aborted) {
      this.#aborted();
    }
  }

  get output(): Promise<Buffer> {
    return this.#output.promise;
  }

  readonly #aborted = (): void => this.#stop(new PluginFailure('is not wanted any more'));

  readonly #killed = (): void => {
    this.#aborted();
    this.#cut();
  };

  #start(): void {
    const { path, args, env, showStderr } = this.#run;
    try {
      const child = spawn(path, args, {
        env,
        detached: true,
        stdio: ['ignore', 'pipe', showStderr ? 'inherit' : 'ignore'],
      });
      this.#child = child;
      child.on('error', (error) => this.#settle(notStarted(error)));
      child.on('exit', () => this.#exited());
      child.on('close', (code, signal) => this.#closed(code, signal));
      child.stdout.on('data', (chunk: Buffer) => this.#printed(chunk));
      child.stdout.on('error', () => undefined);
    } catch (error) {
      // Some reasons come at once, E2BIG among them: what is told about the cluster stands in the environment.
      this.#settle(notStarted(error));
    }
  }

  #printed(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > maxPluginOutputBytes) {
      this.#chunks.length = 0;
      this.#stop(new PluginFailure(`printed more than ${maxPluginOutputBytes} bytes`));
    } else {
      this.#chunks.push(chunk);
    }
  }

  #stop(reason: PluginFailure): void {
    if (this.#stopped !== undefined) {
      return;
    }
    this.#stopped = reason;
    this.#signalGroup('SIGTERM');
    this.#kill = this.#run.clock.setTimeout(() => this.#cut(), graceMs);
  }

  /** SIGKILL to what is left, and no more of its output. */
  #cut(): void {
    this.#signalGroup('SIGKILL');
    this.#child?.stdout?.destroy();
  }

  #exited(): void {
    this.#late = this.#run.clock.setTimeout(() => this.#cut(), lateOutputMs);
  }

  #closed(code: number | null, signal: NodeJS.Signals | null): void {
    this.#signalGroup('SIGKILL');
    if (this.#stopped !== undefined) {
      this.#settle(this.#stopped);
    } else if (signal !== null) {
      this.#settle(new PluginFailure(`was ended by ${signal}`));
    } else if (code !== 0) {
      this.#settle(new PluginFailure(`ended with exit code ${code}`));
    } else {
      this.#settle(Buffer.concat(this.#chunks));
    }
  }

  #settle(result: Buffer | PluginFailure): void {
    for (const timer of [this.#limit, this.#kill, this.#late]) {
      timer?.cancel();
    }
    this.#run.signal.removeEventListener('abort', this.#aborted);
    this.#run.killSignal.removeEventListener('abort', this.#killed);
    if (result instanceof PluginFailure) {
      this.#output.reject(result);
    } else {
      this.#output.resolve(result);
    }
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) {
      return;
    }
    try {
      process.kill(-pid, signal);
    } catch {
      // Nobody of the group is left.
    }
  }
}

/** Without the error itself as the cause: it holds the arguments, which may be secrets. */
function notStarted(error: unknown): PluginFailure {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return new PluginFailure(`could not be started${code}`);
}
