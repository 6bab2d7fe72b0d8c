// What `npm start` runs.

import { CommanderError } from 'commander';
import { StopSignals } from '@roundhouse/process';
import { DemoError } from './demo-error.ts';
import { openDemo, type Demo } from './demo.ts';
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
  let demo: Demo | undefined;
  using signals = StopSignals.open({ onForce: () => demo?.removeFiles() });
  const stopped = new Promise<void>((resolve) => {
    signals.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  demo = await openDemo(options);
  await using _ = demo;
  process.stdout.write(describeDemo(demo.facts));
  await stopped;
  process.stderr.write('Stopping; ctrl-C once more forces it.\n');
  return 0;
}
