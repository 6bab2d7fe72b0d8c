// What the scripts know about this repository: where it is, which files and which workspaces it has.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, glob } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** The folder of this checkout. Each check takes a root, so that its test can plant a violation elsewhere. */
export const repositoryRoot = resolve(import.meta.dirname, '..');

/** The part of a package.json that the scripts look at. */
export interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly workspaces: readonly string[];
}

/** One npm workspace: `folder` is relative to the root, with forward slashes. */
export interface Workspace {
  readonly folder: string;
  readonly manifest: Manifest;
}

/** Files that are tracked or about to be (untracked and not ignored), relative to `root`, sorted. */
export async function listFiles(root: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: root, maxBuffer: 64 * 1024 * 1024 },
  );
  const files = stdout.split('\0').filter((file) => file !== '');
  // A file that was deleted and not yet committed is still listed.
  return files.filter((file) => existsSync(join(root, file))).toSorted();
}

export async function readManifest(folder: string): Promise<Manifest> {
  const parsed: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  if (!isRecord(parsed) || typeof parsed['name'] !== 'string')
    throw new Error(`${folder}/package.json has no name`);
  const { workspaces } = parsed;
  return {
    name: parsed['name'],
    dependencies: stringRecord(parsed['dependencies']),
    devDependencies: stringRecord(parsed['devDependencies']),
    optionalDependencies: stringRecord(parsed['optionalDependencies']),
    workspaces: Array.isArray(workspaces) ? workspaces.filter((entry) => typeof entry === 'string') : [],
  };
}

/** The workspaces that the root's package.json names, in the order of their folders. */
export async function listWorkspaces(root: string): Promise<Workspace[]> {
  const { workspaces } = await readManifest(root);
  const folders: string[] = [];
  for (const pattern of workspaces) {
    for await (const file of glob(`${pattern}/package.json`, { cwd: root })) {
      folders.push(file.replaceAll('\\', '/').replace(/\/package\.json$/, ''));
    }
  }
  return Promise.all(
    folders.toSorted().map(async (folder) => ({ folder, manifest: await readManifest(join(root, folder)) })),
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function stringRecord(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
