/** A program beside us: started, waited for until it says that it is ready, and gone at the end, whatever happened. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const readyTimeoutMs = 20_000;
const stopTimeoutMs = 5_000;
/** Of what it said, for the message when it fails. */
const keptCharacters = 4_096;

export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Standard output goes here instead of being read: a log of millions of lines. */
  readonly stdoutFile?: string;
}

export class ChildProgram implements AsyncDisposable {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #name: string;
  #said = '';

  private constructor(child: ChildProcess, pid: number, name: string) {
    this.#child = child;
    this.pid = pid;
    this.#name = name;
    // `close` and not `exit`: what it said last is read by then.
    this.#exited = once(child, 'close');
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    }
  }

  static async start({ command, args, env = {}, stdoutFile }: ProgramOptions): Promise<ChildProgram> {
    await using log = stdoutFile === undefined ? undefined : await open(stdoutFile, 'a');
    const child = spawn(command, args, {
      // What the person's shell says to one of the contestants must not make the run another one.
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: ['ignore', log?.fd ?? 'pipe', 'pipe'],
    });
    await once(child, 'spawn');
    const { pid } = child;
    if (pid === undefined) throw new Error(`${command} did not start`);
    return new ChildProgram(child, pid, command);
  }

  /** What the pattern's first group caught of its output. */
  async says(pattern: RegExp): Promise<string> {
    return this.#poll(() => pattern.exec(this.#said)?.[1], `say ${pattern.source}`);
  }

  /** For a program that says nothing when it is ready. */
  async listensOn(port: number): Promise<void> {
    await this.#poll(async () => ((await accepts(port)) ? true : undefined), `listen on port ${port}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGTERM');
      const limit = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs);
      await this.#exited;
      clearTimeout(limit);
    }
  }

  #hear(text: string): void {
    this.#said = (this.#said + text).slice(-keptCharacters);
  }

  async #poll<T>(look: () => T | undefined | Promise<T | undefined>, what: string): Promise<T> {
    const until = performance.now() + readyTimeoutMs;
    while (performance.now() < until) {
      const found = await look();
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) break;
      await sleep(20);
    }
    throw new Error(`${this.#name} did not ${what}. It said:\n${this.#said}`);
  }
}

/** A port that is free now. For programs that cannot be told to take any. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    // Not yet; the program's own end is noticed elsewhere.
    return false;
  } finally {
    socket.destroy();
  }
}
