import { runProgram } from './program.ts';
import type { Step } from './step.ts';

export const deadCode: Step = {
  name: 'dead-code',
  purpose: 'knip: nothing unused, no dependency undeclared',
  run: (root) => runProgram(root, 'knip', ['--no-progress', '--no-config-hints', '--reporter=compact']),
};
