// Which files belong to which suite of tests.

import { glob } from 'node:fs/promises';

export type Suite = 'short' | 'full' | 'fuzz' | 'peers';

export function isSuite(value: string): value is Suite {
  return Object.hasOwn(patterns, value);
}

const roots = '{packages/*,apps/*,simulators,scripts,bench}/test/**';

const patterns: Record<Suite, readonly string[]> = {
  short: [`${roots}/*.test.ts`],
  full: [`${roots}/*.test.ts`, `${roots}/*.full-test.ts`],
  fuzz: [`${roots}/*.fuzz.test.ts`],
  peers: ['test/peers/**/*.test.ts'],
};

/** Paths relative to `root`, sorted; with `words`, those that contain at least one of them. */
export async function findTests(root: string, suite: Suite, words: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob(patterns[suite], {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  })) {
    files.push(file.replaceAll('\\', '/'));
  }
  const matching =
    words.length === 0 ? files : files.filter((file) => words.some((word) => file.includes(word)));
  return matching.toSorted();
}
