// What README.md tells people to type exists: subcommands with their flags, and npm scripts.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { createProgram } from '../src/program.ts';
import { Terminal } from '../src/output/terminal.ts';

const root = new URL('../../../', import.meta.url);

suite('the pages that people follow', async () => {
  const { scripts } = JSON.parse(await readFile(new URL('package.json', root), 'utf8')) as {
    scripts: object;
  };
  const program = await createProgram(
    { terminal: new Terminal(process.stdout, process.stderr), signal: new AbortController().signal, env: {} },
    () => true,
  );
  for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/architecture.md']) {
    const text = await readFile(new URL(page, root), 'utf8');

    test(`${page}: every "npx roundhouse" is a command with flags that it has`, () => {
      for (const [line, name = '', rest = ''] of text.matchAll(/npx roundhouse ([a-z-]+)([^`#\n]*)/g)) {
        const command = program.commands.find((candidate) => candidate.name() === name);
        assert.ok(command !== undefined, line);
        const known = [...command.createHelp().visibleOptions(command), ...program.options].flatMap(
          ({ short, long }) => [short, long],
        );
        for (const [flag] of rest.matchAll(/(?<=\s)--?[a-z][a-z-]*/g))
          assert.ok(known.includes(flag), `${line}: ${flag}`);
      }
    });

    test(`${page}: every "npm run" is a script`, () => {
      for (const [, name = ''] of text.matchAll(/npm run ([a-z]+(?::[a-z]+)*)/g)) {
        assert.ok(Object.hasOwn(scripts, name), name);
      }
    });
  }
});
