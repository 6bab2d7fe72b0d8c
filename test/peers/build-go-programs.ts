/**
 * What `npm run test:peers` does first: builds the real programs, one after the other, with a line about it now and then. Without Go
 * it says so and leaves the rest to the suites, which skip; with `--required` that is a failure.
 */

import { goPrograms, obtainGoProgram, whyNoGoPrograms } from './obtain-go-program.ts';

const missing = await whyNoGoPrograms(goPrograms);
if (missing === undefined) {
  for (const program of goPrograms) await obtainGoProgram(program);
} else {
  const required = process.argv.includes('--required');
  console.error(required ? missing : `${missing}: the suites that need them will be skipped`);
  if (required) process.exitCode = 1;
}
