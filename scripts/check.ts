// `npm run check`: the one local gate. Every step runs even when an earlier one failed; each can be called alone.
//
//   npm run check                     all of them
//   npm run check -- lint arrows      these

import { performance } from 'node:perf_hooks';
import { styleText } from 'node:util';
import { arrows } from './check/arrows.ts';
import { deadCode } from './check/dead-code.ts';
import { dependencies } from './check/dependencies.ts';
import { documents } from './check/documents.ts';
import { fileNames } from './check/file-names.ts';
import { format } from './check/format.ts';
import { licences } from './check/licences.ts';
import { lint } from './check/lint.ts';
import { looseEnds } from './check/loose-ends.ts';
import { machinePaths } from './check/machine-paths.ts';
import type { Step } from './check/step.ts';
import { types } from './check/types.ts';
import { workflows } from './check/workflows.ts';
import { repositoryRoot } from './repository.ts';

const steps: readonly Step[] = [
  format,
  lint,
  types,
  deadCode,
  licences,
  dependencies,
  arrows,
  documents,
  fileNames,
  machinePaths,
  looseEnds,
  workflows,
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !steps.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`There is no step "${unknown.join('", "')}". Steps:`);
  for (const step of steps) console.error(`  ${step.name.padEnd(14)}${step.purpose}`);
  process.exit(2);
}

let failed = 0;
for (const step of asked.length === 0 ? steps : steps.filter(({ name }) => asked.includes(name))) {
  const started = performance.now();
  const problems = await step
    .run(repositoryRoot)
    .catch((error: unknown) => [`the step itself broke: ${String(error)}`]);
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(5);
  const mark = problems.length === 0 ? styleText('green', '  ok') : styleText('red', 'FAIL');
  console.log(`${mark} ${seconds} s  ${step.name.padEnd(14)}${step.purpose}`);
  for (const problem of problems) console.log(problem.replaceAll(/^/gm, '     '));
  if (problems.length > 0) failed += 1;
}
if (failed > 0) {
  console.log(`${failed} of the steps failed. One alone: npm run check -- NAME`);
  process.exitCode = 1;
}
