import { runScript } from './program.ts';
import type { Step } from './step.ts';

export const documents: Step = {
  name: 'documents',
  purpose: 'generated pages are up to date (mend: npm run docs)',
  run: (root) => runScript(root, 'scripts/docs.ts', ['--check']),
};
