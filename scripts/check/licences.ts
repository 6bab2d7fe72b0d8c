// Everything that npm installs is under a licence that lets an Apache-2.0 project pass it on.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRecord } from '../repository.ts';
import type { Step } from './step.ts';

/** SPDX identifier to the reason why it is fine. What is not here needs a decision by a person. */
const allowed: Readonly<Record<string, string>> = {
  'Apache-2.0': 'our own',
  MIT: 'permissive; its notice travels in the package',
  ISC: 'permissive; MIT in fewer words',
  'BSD-2-Clause': 'permissive; its notice travels in the package',
  'BSD-3-Clause': 'permissive; no endorsement, which we do not claim',
  '0BSD': 'permissive, and asks for nothing',
};

export const licences: Step = {
  name: 'licences',
  purpose: 'package-lock.json installs allowed licences only',
  run: checkLicences,
};

async function checkLicences(root: string): Promise<readonly string[]> {
  const lock: unknown = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'));
  const packages = isRecord(lock) ? lock['packages'] : undefined;
  if (!isRecord(packages))
    return ['package-lock.json has no "packages": it is not a lockfile of version 2 or 3'];
  const problems: string[] = [];
  for (const [path, entry] of Object.entries(packages)) {
    // A link leads to a workspace, which is listed under its own folder.
    if (!isRecord(entry) || entry['link'] === true) continue;
    const licence = entry['license'];
    if (typeof licence === 'string' && Object.hasOwn(allowed, licence)) continue;
    const name = path === '' ? 'the root package' : path;
    problems.push(
      `${name}: licence ${JSON.stringify(licence ?? null)} is not on the list in scripts/check/licences.ts`,
    );
  }
  return problems;
}
