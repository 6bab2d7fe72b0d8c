// `npm run fuzz`: the fuzz tests, longer than `npm test` runs them, and from another seed each time. Bounded by runs and by time.
//
//   npm run fuzz                               all of them, 50 times their everyday runs
//   npm run fuzz -- --times=500 upgrade        longer, and files whose path contains the word
//   npm run fuzz -- --seed=20261201            what a failure of that seed was found with

import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { repositoryRoot } from './repository.ts';

const rest: string[] = [];
let seed = String(randomInt(1_000_000_000));
let times = '50';
for (const argument of process.argv.slice(2)) {
  const [name, value = ''] = argument.split('=', 2);
  if (name !== '--seed' && name !== '--times') rest.push(argument);
  else if (!/^\d{1,9}$/.test(value)) {
    console.error(`${name} takes a whole number, as in ${name}=1000`);
    process.exit(2);
  } else if (name === '--seed') seed = value;
  else times = value;
}
console.log(
  `seed ${seed}, ${times} times the everyday runs; run it again with: npm run fuzz -- --seed=${seed} --times=${times}`,
);
const { status } = spawnSync(
  process.execPath,
  ['--conditions=@roundhouse/source', 'scripts/test.ts', '--suite=fuzz', ...rest],
  {
    cwd: repositoryRoot,
    stdio: 'inherit',
    env: { ...process.env, ROUNDHOUSE_FUZZ_SEED: seed, ROUNDHOUSE_FUZZ_TIMES: times },
  },
);
process.exitCode = status ?? 1;
