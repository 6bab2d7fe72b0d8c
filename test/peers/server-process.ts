/** A real server as a child process: what it says is kept for the error about it, and it is gone when it is disposed of. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { PortTaken } from './free-ports.ts';
import { LineQueue } from './line-queue.ts';

const readyTimeoutMs = 60_000;
const retryMs = 100;

export interface ServerProcessOptions {
  /** Whether it serves; an error is a no. Asked again and again until it does. */
  readonly isReady: () => Promise<boolean>;
  readonly environment?: Readonly<Record<string, string>>;
}

export class ServerProcess implements AsyncDisposable {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #lines: LineQueue;
  readonly #closed: Promise<unknown>;

  private constructor(name: string, child: ChildProcess, lines: LineQueue, closed: Promise<unknown>) {
    this.name = name;
    this.#child = child;
    this.#lines = lines;
    this.#closed = closed;
  }

  /** Resolves once it serves. Rejects, with what it said last, when it ends before that or takes a minute. */
  static async start(
    name: string,
    program: string,
    args: readonly string[],
    { isReady, environment = {} }: ServerProcessOptions,
  ): Promise<ServerProcess> {
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...environment },
    });
    await once(child, 'spawn');
    const lines = LineQueue.over(child.stderr);
    const server = new ServerProcess(name, child, lines, once(child, 'close'));
    try {
      await server.#untilReady(isReady);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What it said last. */
  get recentLines(): readonly string[] {
    return this.#lines.recent;
  }

  /** Resolves once it is gone. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    await this.#closed;
  }

  /** By force: what it has is in a folder that goes with it, and nobody waits for its orderly end. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGKILL');
  }

  #ended(): Error {
    const said = this.recentLines.join('\n');
    const message = `${this.name} ended before it served:\n${said}`;
    return said.includes('address already in use') ? new PortTaken(message) : new Error(message);
  }

  async #untilReady(isReady: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + readyTimeoutMs;
    while (performance.now() < end) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) throw this.#ended();
      if (await isReady().catch(() => false)) return;
      await delay(retryMs);
    }
    throw new Error(
      `${this.name} does not serve after ${readyTimeoutMs / 1000} s:\n${this.recentLines.join('\n')}`,
    );
  }
}
