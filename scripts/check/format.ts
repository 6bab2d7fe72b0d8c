import { runProgram } from './program.ts';
import type { Step } from './step.ts';

export const format: Step = {
  name: 'format',
  purpose: 'oxfmt would change nothing (mend: npm run format)',
  run: (root) => runProgram(root, 'oxfmt', ['--list-different', '.']),
};
