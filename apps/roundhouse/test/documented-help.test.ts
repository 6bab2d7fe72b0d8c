// docs/cli.md is the snapshot of all help texts: a flag that changes shows up in a diff that somebody reads.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { commandList } from '../src/commands/command-list.ts';
import { runCaptured } from './captured-terminal.ts';

suite('help', async () => {
  const page = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  for (const args of [
    [],
    ...commandList.map(({ name }) => [name]),
    ['auth', 'can-i'],
    ['config', 'view'],
    ['sessions', 'kill'],
    ['help'],
  ]) {
    test(`"${['roundhouse', ...args].join(' ')} --help" is what docs/cli.md says`, async () => {
      const { stdout } = await runCaptured([...args, '--help']);
      assert.ok(
        page.includes(`\`\`\`text\n${stdout.trimEnd()}\n\`\`\``),
        `run "npm run docs"; it prints\n${stdout}`,
      );
    });
  }

  test('the top-level help loads no program', async () => {
    const before = performance.now();
    await runCaptured(['--help']);
    // Loading the gateway takes several times as long; this is no benchmark but a guard against a static import.
    assert.ok(performance.now() - before < 500);
  });
});
