// docs/dependencies.md says of each package from outside what it is for and what leaving it would take. This holds the
// page against the package.json files, and the versions to exact ones.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listWorkspaces, readManifest } from '../repository.ts';
import type { Step } from './step.ts';

export const dependencies: Step = {
  name: 'dependencies',
  purpose: 'docs/dependencies.md lists what package.json lists, at exact versions',
  run: checkDependencies,
};

async function checkDependencies(root: string): Promise<readonly string[]> {
  const page = await readFile(join(root, 'docs/dependencies.md'), 'utf8');
  const described = new Set([...page.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? ''));
  const workspaces = await listWorkspaces(root);
  const ours = new Set(workspaces.map(({ manifest }) => manifest.name));
  const used = new Set<string>();
  const problems: string[] = [];
  for (const manifest of [await readManifest(root), ...workspaces.map((workspace) => workspace.manifest)]) {
    const entries = [manifest.dependencies, manifest.devDependencies, manifest.optionalDependencies].flatMap(
      Object.entries,
    );
    for (const [name, version] of entries) {
      if (!ours.has(name)) used.add(name);
      if (!/^\d+\.\d+\.\d+$/.test(version))
        problems.push(`${manifest.name}: ${name}@${version} is not an exact version`);
    }
  }
  for (const name of used)
    if (!described.has(name)) problems.push(`docs/dependencies.md: no row for ${name}`);
  for (const name of described)
    if (!used.has(name)) problems.push(`docs/dependencies.md: nothing depends on ${name} any more`);
  return problems;
}
