// The process of the command line: signals, streams and the exit code.

import { runCommandLine } from './run.ts';
import { Terminal } from './output/terminal.ts';

const interrupt = new AbortController();
let received: NodeJS.Signals | undefined;
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  // Once: the second signal finds no listener and ends the process, as a person expects.
  process.once(name, () => {
    received = name;
    interrupt.abort();
  });
}
for (const stream of [process.stdout, process.stderr]) {
  // The reader has had enough, as with "| head": nothing is wrong, and nobody is left to tell.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

const exitCode = await runCommandLine(process.argv.slice(2), {
  terminal: new Terminal(process.stdout, process.stderr),
  signal: interrupt.signal,
  env: process.env,
});
process.exitCode = received === 'SIGTERM' && exitCode === 130 ? 143 : exitCode;
