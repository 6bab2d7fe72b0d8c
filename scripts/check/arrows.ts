// The arrows between packages: the drawing in docs/architecture.md is the law, package.json may not say more than the
// drawing, and the files of src/ may not import more than package.json says.

import { readFile } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { listFiles, listWorkspaces, readManifest, type Workspace } from '../repository.ts';
import { readRooms, type Room } from './rooms.ts';
import type { Step } from './step.ts';

/** In-process peers: any test may use them, no published file may. */
const simulators = '@roundhouse/simulators';

export const arrows: Step = {
  name: 'arrows',
  purpose: 'imports follow package.json, package.json follows the drawing',
  run: checkArrows,
};

async function checkArrows(root: string): Promise<readonly string[]> {
  const rooms = readRooms(await readFile(join(root, 'docs/architecture.md'), 'utf8'));
  const workspaces = await listWorkspaces(root);
  const problems = [...judgeManifests(rooms, workspaces)];
  const files = await listFiles(root);
  const rootManifest = await readManifest(root);
  for (const workspace of workspaces) {
    for (const file of files) {
      if (!file.startsWith(`${workspace.folder}/`) || !/\.(?:ts|js|mjs)$/.test(file)) continue;
      const inSource = file.startsWith(`${workspace.folder}/src/`);
      const { name, dependencies, devDependencies, optionalDependencies } = workspace.manifest;
      const declared = new Set([name, ...Object.keys(dependencies), ...Object.keys(optionalDependencies)]);
      if (!inSource) {
        for (const extra of [...Object.keys(devDependencies), ...Object.keys(rootManifest.devDependencies)])
          declared.add(extra);
      }
      for (const specifier of importsOf(await readFile(join(root, file), 'utf8'))) {
        const problem = judgeImport(specifier, declared, file, workspace.folder);
        if (problem !== undefined) problems.push(`${file}: ${problem}`);
      }
    }
  }
  return problems;
}

/** package.json against the drawing. */
function judgeManifests(
  rooms: ReadonlyMap<string, Room>,
  workspaces: readonly Workspace[],
): readonly string[] {
  const problems: string[] = [];
  const folderOf = new Map(workspaces.map(({ folder, manifest }) => [manifest.name, folder]));
  for (const { folder, manifest } of workspaces) {
    const room = rooms.get(folder);
    if (room === undefined) {
      problems.push(`${folder}: not in the drawing of docs/architecture.md`);
      continue;
    }
    // A suite against real programs is itself a test, and may use what it tests.
    if (room.arrows === 'anything') continue;
    for (const dependency of Object.keys(manifest.dependencies)) {
      const target = folderOf.get(dependency);
      if (target === undefined) {
        if (room.onlyExternal !== undefined && room.onlyExternal !== dependency) {
          problems.push(`${folder}: depends on ${dependency}; the drawing allows ${room.onlyExternal} only`);
        }
      } else if (!room.arrows.has(target)) {
        problems.push(`${folder} -> ${target}: package.json has an arrow that the drawing has not`);
      }
    }
    for (const dependency of Object.keys(manifest.devDependencies)) {
      const target = folderOf.get(dependency);
      if (target !== undefined && dependency !== simulators && !room.arrows.has(target)) {
        problems.push(
          `${folder} -> ${target}: tests may use ${simulators} and what the drawing allows, nothing else of ours`,
        );
      }
    }
  }
  return problems;
}

function judgeImport(
  specifier: string,
  declared: ReadonlySet<string>,
  file: string,
  folder: string,
): string | undefined {
  if (specifier.startsWith('node:')) return undefined;
  if (specifier.startsWith('.')) {
    const target = new URL(specifier, `file:///${file}`).pathname.slice(1);
    return target.startsWith(`${folder}/`)
      ? undefined
      : `imports ${specifier}, a file of another package, by path`;
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  if (builtinModules.includes(specifier)) return `imports ${specifier}; write node:${specifier}`;
  return declared.has(name)
    ? undefined
    : `imports ${name}, which its package.json does not list under dependencies`;
}

/** What a file imports or re-exports, statically or by import() of a literal. */
export function importsOf(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
  const statement = /(?:^|[;}\s])(?:import|export)\s[^'"`;=()]*?\sfrom\s*(['"])(.+?)\1/g;
  const bare = /^\s*import\s*(['"])(.+?)\1/gm;
  const dynamic = /\bimport\(\s*(['"])(.+?)\1\s*\)/g;
  const found = [statement, bare, dynamic].flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => match[2] ?? ''),
  );
  return [...new Set(found)];
}
