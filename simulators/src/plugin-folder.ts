/** Credential plugins as they are: scripts in a folder of their own, which tells how often they ran and what is left of them. */

import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class PluginFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<PluginFolder> {
    return new PluginFolder(await mkdtemp(join(tmpdir(), 'roundhouse-plugins-')));
  }

  /** The path of an executable script for sh; `$D` in it is the folder. Each run leaves a line in the file `runs`. */
  script(name: string, body: string): string {
    const text = `#!/bin/sh\nD='${this.path}'\necho $$ >> "$D/runs"\n${body}\n`;
    writeFileSync(join(this.path, name), text, { mode: 0o755 });
    return join(this.path, name);
  }

  /** The path of a file with that text. */
  write(name: string, text: string): string {
    writeFileSync(join(this.path, name), text);
    return join(this.path, name);
  }

  /** Trimmed; empty when it is not there. */
  read(name: string): string {
    const path = join(this.path, name);
    return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  }

  /** Of all scripts. */
  get runs(): number {
    return this.read('runs').split('\n').filter(Boolean).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** What a plugin prints, as JSON. */
export function execCredential(
  status: Readonly<Record<string, unknown>>,
  apiVersion = 'client.authentication.k8s.io/v1',
): string {
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', status });
}

/** Processes of the group that still run; one that has ended and that nobody has asked about is none. */
export function runningInGroup(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        // pid (name) state ppid pgrp ...: the name may hold anything.
        const [state, , found] = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        return state !== 'Z' && Number(found) === group;
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}
