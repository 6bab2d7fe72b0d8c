// Nothing in the repository depends on, or tells of, the machine that somebody wrote it on.

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listFiles } from '../repository.ts';
import type { Step } from './step.ts';

const homes = /(?<![\w.-])\/(?:home|Users)\/(?!runner\b|user\b|you\b)[\w.-]+\//;

export const machinePaths: Step = {
  name: 'machine-paths',
  purpose: 'no absolute path of one machine in a file',
  run: checkMachinePaths,
};

async function checkMachinePaths(root: string): Promise<readonly string[]> {
  const problems: string[] = [];
  const parent = dirname(root);
  // The folder that this checkout lies in is such a path too; directly under / every path would be one.
  const checkout =
    parent === '/' ? undefined : new RegExp(`(?<![\\w.-])${parent.replaceAll(/[^\w/-]/g, '\\$&')}/`);
  for (const file of await listFiles(root)) {
    const content = await readFile(join(root, file), 'utf8').catch(() => '');
    // A NUL means that it is no text.
    if (content.includes('\0')) continue;
    for (const [index, line] of content.split('\n').entries()) {
      const found = homes.exec(line)?.[0] ?? checkout?.exec(line)?.[0];
      if (found !== undefined) problems.push(`${file}:${index + 1}: "${found}" is a place on one machine`);
    }
  }
  return problems;
}
