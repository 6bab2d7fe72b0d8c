/**
 * Runs a kubectl the way a person does, seen from outside: arguments in, output and exit code out. A time limit ends every process
 * at the latest, and none finds a discovery cache that another kubeconfig has filled.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { LineQueue } from './line-queue.ts';

export interface KubectlOptions {
  readonly kubeconfig: string;
  /** The process is killed after this long. Default: 30 s for `runKubectl`, 120 s for a `KubectlStream`. */
  readonly timeoutMs?: number;
  /** Fed to standard input, which is empty otherwise; for `kubectl apply -f -`. */
  readonly stdin?: string;
  /** Laid over the environment, which holds nothing of the caller's but PATH. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** How a process ended. */
export interface Exit {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface KubectlResult extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Resolves whatever the exit code is; rejects, with the output so far, when the time limit had to end it. */
export async function runKubectl(
  kubectl: string,
  args: readonly string[],
  options: KubectlOptions,
): Promise<KubectlResult> {
  const { timeoutMs = 30_000 } = options;
  const child = start(kubectl, args, options);
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  try {
    const [exit, stdout, stderr] = await Promise.all([exitOf(child), text(child.stdout), text(child.stderr)]);
    if (timedOut) throw new Error(complaint(args, `did not end within ${timeoutMs} ms`, stdout, stderr));
    return { ...exit, stdout, stderr };
  } finally {
    clearTimeout(limit);
  }
}

/**
 * A kubectl that goes on: `get -w`, `logs -f`. Iterate over it for the lines of standard output, or wait for the next line that
 * matches; both read on from where reading has come to. `kill()` or `await using` ends it.
 */
export class KubectlStream implements AsyncIterable<string>, AsyncDisposable {
  readonly #args: readonly string[];
  readonly #child: KubectlProcess;
  readonly #lines: LineQueue;
  /** How the process ended, once it has. */
  readonly exited: Promise<Exit>;
  #stderr = '';

  private constructor(args: readonly string[], child: KubectlProcess, exited: Promise<Exit>) {
    this.#args = args;
    this.#child = child;
    this.#lines = LineQueue.over(child.stdout);
    this.exited = exited;
  }

  /** Resolves when the process runs, which says nothing about its first request yet. */
  static async start(
    kubectl: string,
    args: readonly string[],
    options: KubectlOptions,
  ): Promise<KubectlStream> {
    const { timeoutMs = 120_000 } = options;
    const child = start(kubectl, args, options);
    const limit = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    const exited = exitOf(child).finally(() => clearTimeout(limit));
    // A program that cannot be started never spawns; then it is `exited` that rejects, and with the reason.
    await Promise.race([once(child, 'spawn'), exited]);
    const stream = new KubectlStream(args, child, exited);
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stream.#stderr += chunk;
    });
    return stream;
  }

  /** Everything on standard error so far. */
  get stderr(): string {
    return this.#stderr;
  }

  [Symbol.asyncIterator](): AsyncIterator<string> {
    return this.#lines[Symbol.asyncIterator]();
  }

  /** The next line that contains or matches `match`; those before it are passed over. Rejects with the output so far. Default: 10 s. */
  async nextLine(match: string | RegExp, options: { readonly timeoutMs?: number } = {}): Promise<string> {
    const { timeoutMs = 10_000 } = options;
    const matches = (line: string) => (typeof match === 'string' ? line.includes(match) : match.test(line));
    try {
      return await this.#lines.next(matches, timeoutMs);
    } catch (cause) {
      const output = this.#lines.recent.join('\n');
      throw new Error(complaint(this.#args, `gave no line with ${String(match)}`, output, this.#stderr), {
        cause,
      });
    }
  }

  /** Ends it as ctrl-C does unless told otherwise, and waits for the end. */
  async kill(signal: NodeJS.Signals = 'SIGINT'): Promise<Exit> {
    this.#child.kill(signal);
    return this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGKILL');
  }
}

type KubectlProcess = ReturnType<typeof start>;

function start(kubectl: string, args: readonly string[], options: KubectlOptions) {
  const home = path.dirname(options.kubeconfig);
  const child = spawn(kubectl, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      KUBECONFIG: options.kubeconfig,
      KUBECACHEDIR: path.join(home, `${path.basename(options.kubeconfig)}.cache`),
      ...options.environment,
    },
  });
  // Nobody has to read what is fed to it; `kubectl version` ends before it arrives.
  child.stdin.on('error', () => {});
  child.stdin.end(options.stdin ?? '');
  return child;
}

/** Resolves when the process has ended and its output is read; rejects when it could not be started. */
async function exitOf(child: KubectlProcess): Promise<Exit> {
  const { promise, resolve, reject } = Promise.withResolvers<Exit>();
  child.once('error', reject);
  child.once('close', (code, signal) => resolve({ code, signal }));
  return promise;
}

function complaint(args: readonly string[], what: string, stdout: string, stderr: string): string {
  return `kubectl ${args.join(' ')} ${what}\nstdout:\n${stdout}\nstderr:\n${stderr}`;
}
