// The process of the command line: signals, streams and the exit code.

import { StopSignals } from '@roundhouse/process/signals';
import { Terminal } from './output/terminal.ts';
import { runCommandLine } from './run.ts';

for (const stream of [process.stdout, process.stderr]) {
  // The reader has had enough, as with "| head": nothing is wrong, and nobody is left to tell.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

using signals = StopSignals.open();
process.exitCode = await runCommandLine(process.argv.slice(2), {
  terminal: new Terminal(process.stdout, process.stderr),
  signal: signals.signal,
  env: process.env,
});
