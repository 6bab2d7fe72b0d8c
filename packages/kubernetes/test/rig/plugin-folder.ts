/** Credential plugins as they are: scripts in a folder of their own, which says how often they ran and what is left of them. */

import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ExecPlugin } from '../../src/index.ts';

export interface PluginFolder {
  readonly path: string;
  /** An executable script for sh; `$D` in it is the folder. Each run leaves a line in `runs`. */
  script(name: string, body: string, mode?: number): string;
  write(name: string, text: string): string;
  /** Trimmed; empty when it is not there. */
  read(name: string): string;
  /** Of all scripts. */
  readonly runs: number;
}

export async function openPluginFolder(t: TestContext): Promise<PluginFolder> {
  const path = await mkdtemp(join(tmpdir(), 'roundhouse-plugins-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  const write = (name: string, text: string, mode = 0o644): string => {
    writeFileSync(join(path, name), text, { mode });
    return join(path, name);
  };
  const read = (name: string): string =>
    existsSync(join(path, name)) ? readFileSync(join(path, name), 'utf8').trim() : '';
  return {
    path,
    script: (name, body, mode = 0o755) =>
      write(name, `#!/bin/sh\nD='${path}'\necho $$ >> "$D/runs"\n${body}\n`, mode),
    write: (name, text) => write(name, text),
    read,
    get runs() {
      return read('runs').split('\n').filter(Boolean).length;
    },
  };
}

/** What a plugin prints, as JSON. */
export function printed(
  status: Readonly<Record<string, unknown>>,
  apiVersion: ExecPlugin['apiVersion'] = 'client.authentication.k8s.io/v1',
): string {
  return JSON.stringify({ apiVersion, kind: 'ExecCredential', status });
}

export function pluginFor(command: string, rest: Partial<ExecPlugin> = {}): ExecPlugin {
  return {
    command,
    args: [],
    env: [],
    apiVersion: 'client.authentication.k8s.io/v1',
    info: '{}',
    installHint: undefined,
    allowlist: undefined,
    ...rest,
  };
}

/** Processes of the group that still run; one that has ended and that nobody has asked about is none. */
export function runningIn(group: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        // pid (name) state ppid pgrp ...: the name may hold anything.
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ');
        return fields[0] !== 'Z' && Number(fields[2]) === group;
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}
