// What `npm start` runs.

import { once } from 'node:events';
import { CommanderError } from 'commander';
import { StopSignals } from '@roundhouse/process';
import { DemoError } from './demo-error.ts';
import { DemoFolder } from './demo-folder.ts';
import { openDemo } from './demo.ts';
import { parseDemoOptions } from './options.ts';
import { describeDemo } from './things-to-try.ts';

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else if (error instanceof DemoError) {
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = 1;
  } else throw error;
}

async function run(args: readonly string[]): Promise<number> {
  const options = parseDemoOptions(args);
  using folder = await DemoFolder.open(options.folder);
  // The second ctrl-C ends the process without closing anything; the files go all the same.
  using signals = StopSignals.open({ onForce: () => folder[Symbol.dispose]() });
  await using demo = await openDemo(options, folder);
  process.stdout.write(describeDemo(demo.facts));
  if (!signals.signal.aborted) await once(signals.signal, 'abort');
  process.stderr.write('Stopping; ctrl-C once more forces it.\n');
  return 0;
}
