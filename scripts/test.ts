// `npm test`: node's own runner over every workspace, from source, on a Node that is new enough.
//
//   npm test                                   the whole suite
//   npm test -- packages/transport pool        files whose path contains one of the words
//   npm test -- --test-name-pattern=BB-12      flags go to node's runner
//   npm run test:full                          also *.full-test.ts, which take minutes
//   npm run fuzz                               *.fuzz.test.ts for longer; see scripts/fuzz.ts
//   npm run test:peers                         the suites against real programs

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { styleText } from 'node:util';
import { findTests, isSuite, type Suite } from './test-files.ts';
import { repositoryRoot } from './repository.ts';

/** A test file that takes longer hangs: node reports it as failed and goes on. */
const fileTimeoutMs: Record<Suite, number> = {
  short: 180_000,
  full: 1_800_000,
  fuzz: 1_800_000,
  peers: 900_000,
};

const suites: string[] = [];
const flags: string[] = [];
const words: string[] = [];
for (const argument of process.argv.slice(2)) {
  if (argument.startsWith('--suite=')) suites.push(argument.slice('--suite='.length));
  else (argument.startsWith('-') ? flags : words).push(argument);
}
const suite = suites.at(-1) ?? 'short';
if (!isSuite(suite)) throw new Error(`unknown suite "${suite}"; there are short, full, fuzz and peers`);

const files = await findTests(repositoryRoot, suite, words);
if (files.length === 0) {
  console.error(`No test file of the ${suite} suite has "${words.join('" or "')}" in its path.`);
  process.exit(2);
}

console.error(
  styleText('dim', `Node ${process.versions.node} (${process.execPath}), ${files.length} test files`, {
    stream: process.stderr,
  }),
);
const runner = spawn(
  process.execPath,
  [
    '--conditions=@roundhouse/source',
    '--test',
    '--test-reporter=spec',
    `--test-timeout=${fileTimeoutMs[suite]}`,
    // Most tests wait on loopback sockets: one worker more than there are cores keeps two cores busy.
    `--test-concurrency=${availableParallelism() + 1}`,
    ...flags,
    ...files,
  ],
  { cwd: repositoryRoot, stdio: 'inherit' },
);
// The runner is in our process group and gets ctrl-C itself; we stay to pass its exit code on.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => runner.kill('SIGTERM'));
const [code] = await once(runner, 'exit');
process.exitCode = typeof code === 'number' ? code : 1;
