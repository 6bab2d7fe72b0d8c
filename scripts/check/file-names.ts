// A file is named after the one thing it holds.

import { basename } from 'node:path';
import { listFiles } from '../repository.ts';
import type { Step } from './step.ts';

const saysNothing =
  /^(?:utils?|helpers?|common|misc|shared|managers?)(?=[.-]|$)|-(?:utils?|helpers?|manager)(?=\.)/i;
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9-]+)*$/;

export const fileNames: Step = {
  name: 'file-names',
  purpose: 'kebab-case, and no dumping grounds',
  run: async (root) => judgeFileNames(await listFiles(root)),
};

export function judgeFileNames(files: readonly string[]): readonly string[] {
  const problems: string[] = [];
  for (const file of files) {
    if (!/\.(?:ts|js|mjs)$/.test(file)) continue;
    const empty = file.split('/').find((part) => saysNothing.test(part));
    if (empty !== undefined) {
      problems.push(
        `${file}: "${empty}" says nothing; name it after what it holds, and what does not fit goes elsewhere`,
      );
    }
    if (!kebabCase.test(basename(file))) problems.push(`${file}: file names are kebab-case`);
  }
  return problems;
}
