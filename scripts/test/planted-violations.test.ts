// Each check finds the violation that it exists for, and nothing in a clean repository.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { deadCode } from '../check/dead-code.ts';
import { dependencies } from '../check/dependencies.ts';
import { judgeFileNames } from '../check/file-names.ts';
import { format } from '../check/format.ts';
import { licences } from '../check/licences.ts';
import { lint } from '../check/lint.ts';
import { looseEnds } from '../check/loose-ends.ts';
import { machinePaths } from '../check/machine-paths.ts';
import type { Step } from '../check/step.ts';
import { types } from '../check/types.ts';
import { workflows } from '../check/workflows.ts';
import { repositoryRoot } from '../repository.ts';
import { plantRepository } from './planted-repository.ts';

async function problems(step: Step, files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  await using repository = await plantRepository(files);
  return await step.run(repository.root);
}

suite('planted violations', () => {
  test('format: a file that oxfmt would change is named', async () => {
    assert.deepEqual(await problems(format, { 'a.ts': 'export const a = 1;\n' }), []);
    assert.match((await problems(format, { 'a.ts': 'export const a   = 1\n' })).join(), /a\.ts/);
  });

  test('lint: a promise that nobody awaits, a default export and a cycle are named', async () => {
    const config = JSON.stringify({ extends: [`${repositoryRoot}/.oxlintrc.json`] });
    const found = await problems(lint, {
      '.oxlintrc.json': config,
      'tsconfig.json': JSON.stringify({
        compilerOptions: { allowImportingTsExtensions: true, noEmit: true },
      }),
      'a.ts':
        "import { b } from './b.ts';\nexport async function a(): Promise<number> {\n  return b;\n}\na();\nexport default a;\n",
      'b.ts': "import { a } from './a.ts';\nexport const b = a.length;\n",
    });
    assert.match(found.join(), /no-floating-promises/);
    assert.match(found.join(), /no-default-export/);
    assert.match(found.join(), /no-cycle/);
  });

  test('types: a type error fails the step', async () => {
    const files = { 'tsconfig.json': '{"files":["a.ts"],"compilerOptions":{"noEmit":true}}' };
    assert.match(
      (await problems(types, { ...files, 'a.ts': "export const a: number = 'one';\n" })).join(),
      /TS2322/,
    );
  });

  test('dead-code: an export that nobody imports is named', async () => {
    const files = {
      'package.json': JSON.stringify({ name: 'x', type: 'module' }),
      'knip.json': JSON.stringify({ entry: ['main.ts'], project: ['*.ts'] }),
      'main.ts': "import { used } from './part.ts';\nused();\n",
    };
    assert.deepEqual(await problems(deadCode, { ...files, 'part.ts': 'export function used() {}\n' }), []);
    const found = await problems(deadCode, {
      ...files,
      'part.ts': 'export function used() {}\nexport const dead = 1;\n',
    });
    assert.match(found.join(), /dead/);
  });

  test('licences: one that is not on the list is named, and so is none', async () => {
    const lock = (packages: object) => ({ 'package-lock.json': JSON.stringify({ packages }) });
    assert.deepEqual(
      await problems(
        licences,
        lock({ 'node_modules/a': { license: 'MIT' }, 'node_modules/b': { link: true } }),
      ),
      [],
    );
    const found = await problems(
      licences,
      lock({ 'node_modules/a': { license: 'AGPL-3.0' }, 'node_modules/b': {} }),
    );
    assert.equal(found.length, 2);
    assert.match(found[0] ?? '', /node_modules\/a: licence "AGPL-3.0"/);
    assert.match(found[1] ?? '', /node_modules\/b: licence null/);
  });

  test('dependencies: a package without a row, a row without a package, and a range', async () => {
    assert.deepEqual(
      await problems(dependencies, {
        'package.json': JSON.stringify({ name: 'x', dependencies: { here: '1.0.0', missing: '^2.0.0' } }),
        'docs/dependencies.md': '| `here` | words |\n| `gone` | words |\n',
      }),
      [
        'x: missing@^2.0.0 is not an exact version',
        'docs/dependencies.md: no row for missing',
        'docs/dependencies.md: nothing depends on gone any more',
      ],
    );
  });

  test('file-names: dumping grounds and other spellings', () => {
    const good = [
      'packages/a/src/tls-material.ts',
      'packages/a/test/pool.full-test.ts',
      'apps/a/bin/roundhouse.js',
      'scripts/common-ground.ts'.replace('common-', 'un'),
    ];
    assert.deepEqual(judgeFileNames(good), []);
    for (const bad of [
      'src/utils.ts',
      'src/helpers/a.ts',
      'src/common-types.ts',
      'src/pool-manager.ts',
      'src/TlsMaterial.ts',
      'test/misc.test.ts',
    ]) {
      assert.equal(judgeFileNames([bad]).length, 1, bad);
    }
  });

  test('machine-paths: a home folder and the folder of the checkout', async () => {
    const home = ['', 'home', 'ada', 'project'].join('/');
    await using repository = await plantRepository({
      'a.md': `see ${home}/notes\n`,
      'b.ts': 'export const a = "/api/home/x/";\n',
    });
    assert.deepEqual(await machinePaths.run(repository.root), [
      `a.md:1: "${['', 'home', 'ada', ''].join('/')}" is a place on one machine`,
    ]);
    const parent = repository.root.split('/').slice(0, -1).join('/');
    await using second = await plantRepository({ 'a.md': `see ${parent}/other\n` });
    assert.deepEqual(await machinePaths.run(second.root), [`a.md:1: "${parent}/" is a place on one machine`]);
  });

  test('workflows: an action by tag is named', async () => {
    const workflow = (uses: string) => ({ '.github/workflows/ci.yml': `steps:\n  - uses: ${uses}\n` });
    assert.deepEqual(
      await problems(workflows, workflow(`actions/checkout@${'0123456789'.repeat(4)} # v7.0.1`)),
      [],
    );
    assert.deepEqual(await problems(workflows, workflow('./.github/actions/setup')), []);
    assert.equal((await problems(workflows, workflow('actions/checkout@v7'))).length, 1);
    assert.equal(
      (await problems(workflows, workflow(`actions/checkout@${'0123456789'.repeat(4)}`))).length,
      1,
    );
  });
});

suite('this repository', () => {
  test('has no focused test, no silent skip and no switched-off type check', async () => {
    assert.deepEqual(await looseEnds.run(repositoryRoot), []);
  });
});
