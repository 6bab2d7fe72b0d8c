// What is meant to be gone before a commit: focused tests, silent skips, switched-off checks, notes to oneself.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listFiles } from '../repository.ts';
import type { Step } from './step.ts';

interface LooseEnd {
  readonly pattern: RegExp;
  readonly reason: string;
}

const everywhere: readonly LooseEnd[] = [
  {
    pattern: /\b(?:TODO|FIXME|XXX)\b/,
    reason: 'a note to oneself; do it, or write it where others look for it',
  },
  { pattern: /@ts-(?:ignore|expect-error|nocheck)\b/, reason: 'switches the type checker off' },
];

const inTests: readonly LooseEnd[] = [
  {
    pattern: /\b(?:test|it|describe|suite)\.only\(|\bonly:\s*true\b/,
    reason: 'the other tests of the file do not run',
  },
  {
    pattern:
      /\b(?:test|it|describe|suite)\.(?:skip|todo)\(|\b(?:skip|todo):\s*true\b|\bt\.(?:skip|todo)\(\s*\)/,
    reason: 'a skip that does not say why; use { skip: reason } with a reason that is computed',
  },
  { pattern: /\bassert\.ok\(true\b|\bassert\(true\b/, reason: 'asserts nothing' },
];

export const looseEnds: Step = {
  name: 'loose-ends',
  purpose: 'no focused or silently skipped test, no note to oneself',
  run: checkLooseEnds,
};

async function checkLooseEnds(root: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const file of await listFiles(root)) {
    // This file and its test spell out what they look for.
    if (!file.endsWith('.ts') || /(?:^|\/)loose-ends\./.test(file)) continue;
    const isTest = /(?:^|\/)test\//.test(file);
    const content = await readFile(join(root, file), 'utf8');
    for (const [index, line] of content.split('\n').entries()) {
      for (const { pattern, reason } of isTest ? [...everywhere, ...inTests] : everywhere) {
        const found = pattern.exec(line)?.[0];
        if (found !== undefined) problems.push(`${file}:${index + 1}: "${found}": ${reason}`);
      }
    }
  }
  return problems;
}
