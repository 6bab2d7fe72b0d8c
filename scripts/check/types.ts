import { runProgram } from './program.ts';
import type { Step } from './step.ts';

export const types: Step = {
  name: 'types',
  purpose: 'tsc -b: packages build; tests and scripts are typed',
  run: (root) => runProgram(root, 'tsc', ['-b']),
};
