// A tag of an action can be moved by whoever owns it; a commit cannot.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listFiles } from '../repository.ts';
import type { Step } from './step.ts';

export const workflows: Step = {
  name: 'workflows',
  purpose: 'actions are pinned by full commit, with their version beside it',
  run: checkWorkflows,
};

async function checkWorkflows(root: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const file of await listFiles(root)) {
    if (!/^\.github\/.*\.ya?ml$/.test(file)) continue;
    for (const [index, line] of (await readFile(join(root, file), 'utf8')).split('\n').entries()) {
      const used = /^\s*(?:-\s+)?uses:\s*(.+)$/.exec(line)?.[1];
      // An action of this repository comes with the commit that uses it.
      if (used === undefined || used.startsWith('./')) continue;
      if (!/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(used)) {
        problems.push(`${file}:${index + 1}: "${used}": write owner/name@<40 hex digits> # v1.2.3`);
      }
    }
  }
  return problems;
}
