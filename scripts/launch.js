// Runs a TypeScript file of this repository on a Node that can. npm scripts start here, because an old system Node
// cannot even parse the file it would have to complain in. Plain JavaScript that Node 12 reads.
//
//   node scripts/launch.js scripts/test.ts [arguments]

import { fileURLToPath } from 'node:url';
import { continueWithNode } from '../apps/roundhouse/bin/runtime.js';

const [script, ...rest] = process.argv.slice(2);
if (script === undefined) {
  console.error('usage: node scripts/launch.js FILE.ts [arguments]');
  process.exit(2);
}
const root = fileURLToPath(new URL('..', import.meta.url));
continueWithNode(root, ['--conditions=@roundhouse/source', script, ...rest]);
