#!/usr/bin/env node
// Starts the command line on a Node that can run it: from src/ in a checkout, from dist/ in an installed package.

import { existsSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { continueWithNode, isSupported } from './runtime.js';

if (!isSupported(process.versions.node)) {
  continueWithNode(fileURLToPath(new URL('..', import.meta.url)), process.argv.slice(1));
} else if (existsSync(new URL('../src/main.ts', import.meta.url))) {
  // In a checkout the workspaces run from their sources, without a build: what --conditions does for a whole process.
  nodeModule.registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, { ...context, conditions: [...(context.conditions ?? []), '@roundhouse/source'] }),
  });
  await import('../src/main.ts');
} else {
  await import('../dist/main.js');
}
