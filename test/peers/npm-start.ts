/** `npm start`, as a person runs it in a terminal: one process group, ended by ctrl-C, which reaches all of it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { LineQueue } from './line-queue.ts';

const repository = path.join(import.meta.dirname, '..', '..');
const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;

export class NpmStart implements AsyncDisposable {
  readonly gatewayUrl: string;
  readonly adminUrl: string;
  readonly kubeconfig: string;
  readonly folder: string;
  readonly #pid: number;
  /** Standard output is closed: not only npm is gone, but also what it started. */
  readonly #closed: Promise<unknown>;

  private constructor(
    parts: Pick<NpmStart, 'gatewayUrl' | 'adminUrl' | 'folder'> & {
      pid: number;
      closed: Promise<unknown>;
    },
  ) {
    this.gatewayUrl = parts.gatewayUrl;
    this.adminUrl = parts.adminUrl;
    this.folder = parts.folder;
    this.kubeconfig = path.join(parts.folder, 'kubeconfig');
    this.#pid = parts.pid;
    this.#closed = parts.closed;
  }

  /** @param folder for the demo's files; must not exist yet */
  static async run(folder: string): Promise<NpmStart> {
    const args = ['start', '--silent', '--', '--port', '0', '--admin-port', '0', '--folder', folder];
    const child = spawn('npm', args, {
      cwd: repository,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child, 'spawn');
    const { pid } = child;
    if (pid === undefined) throw new Error('npm could not be started');
    const closed = once(child, 'close');
    const lines = LineQueue.over(child.stdout);
    const value = async (name: string): Promise<string> => {
      const line = await lines.next((text) => text.trimStart().startsWith(`${name} `), startTimeoutMs);
      return line.trim().split(/\s+/)[1] ?? '';
    };
    try {
      const gatewayUrl = await value('gateway');
      const adminUrl = await value('admin');
      await lines.next((text) => text.startsWith('Ctrl-C'), startTimeoutMs);
      return new NpmStart({ gatewayUrl, adminUrl, folder, pid, closed });
    } catch (error) {
      process.kill(-pid, 'SIGKILL');
      throw error;
    }
  }

  /** Ctrl-C. Resolves once the whole group is gone; npm itself dies of the signal, whatever its child makes of it. */
  async interrupt(): Promise<void> {
    process.kill(-this.#pid, 'SIGINT');
    const limit = setTimeout(() => process.kill(-this.#pid, 'SIGKILL'), stopTimeoutMs);
    try {
      await this.#closed;
    } finally {
      clearTimeout(limit);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      process.kill(-this.#pid, 'SIGKILL');
    } catch {
      // It is gone already.
    }
    await this.#closed;
  }
}
