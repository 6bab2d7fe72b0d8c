import { runProgram } from './program.ts';
import type { Step } from './step.ts';

export const lint: Step = {
  name: 'lint',
  purpose: 'oxlint with types; rules and reasons in .oxlintrc.json',
  run: (root) =>
    runProgram(root, 'oxlint', ['--type-aware', '--deny-warnings', '--report-unused-disable-directives']),
};
