// `npm run docs` writes the generated pages of docs/; with --check it only says which of them are stale.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commandLinePage } from './docs/cli.ts';
import { configurationPage } from './docs/configuration.ts';
import { errorsPage } from './docs/errors.ts';
import { limitsPage } from './docs/limits.ts';
import { metricsPage } from './docs/metrics.ts';
import { fieldReportsPage } from './docs/field-reports.ts';
import type { Page } from './docs/page.ts';
import { repositoryRoot } from './repository.ts';

const pages: readonly Page[] = [
  errorsPage,
  metricsPage,
  commandLinePage,
  configurationPage,
  fieldReportsPage,
  limitsPage,
];

const checkOnly = process.argv.includes('--check');
for (const page of pages) {
  const path = join(repositoryRoot, page.file);
  const wanted = await page.render();
  if ((await readFile(path, 'utf8').catch(() => undefined)) === wanted) continue;
  if (checkOnly) {
    console.error(`${page.file} is not what its source says now; run "npm run docs" and commit the result`);
    process.exitCode = 1;
  } else {
    await writeFile(path, wanted);
    console.error(`wrote ${page.file}`);
  }
}
