import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { arrows, importsOf } from '../check/arrows.ts';
import { readRooms } from '../check/rooms.ts';
import { plantRepository } from './planted-repository.ts';

const drawing = `# Architecture

## Rooms

\`\`\`
packages/
  transport/    @x/transport   -> undici only. Words
                                  more words
  kubernetes/   @x/kubernetes  -> transport. Words
apps/
  gateway/      -> transport and kubernetes
  leaklab/      -> nothing of ours (why)
simulators/     private
test/peers/     -> anything of ours. Suites
\`\`\`
`;

/** A repository that obeys the drawing, with `changes` over it. */
function plant(changes: Readonly<Record<string, string>>): ReturnType<typeof plantRepository> {
  const manifest = (
    name: string,
    dependencies: Record<string, string>,
    devDependencies: Record<string, string> = {},
  ) => JSON.stringify({ name, dependencies, devDependencies });
  return plantRepository({
    'docs/architecture.md': drawing,
    'package.json': JSON.stringify({
      name: 'root',
      workspaces: ['packages/*', 'apps/*', 'simulators'],
      devDependencies: { 'fast-check': '1.0.0' },
    }),
    'packages/transport/package.json': manifest(
      '@x/transport',
      { undici: '8.0.0' },
      { '@roundhouse/simulators': '1.0.0' },
    ),
    'packages/transport/src/index.ts':
      "import { Client } from 'undici';\nexport { pool } from './pool.ts';\n",
    'packages/transport/test/pool.test.ts':
      "import fc from 'fast-check';\nimport { x } from '@roundhouse/simulators';\n",
    'packages/kubernetes/package.json': manifest('@x/kubernetes', { '@x/transport': '1.0.0' }),
    'packages/kubernetes/src/index.ts':
      "import type { Pool } from '@x/transport';\nimport fs from 'node:fs';\n",
    'apps/gateway/package.json': manifest('@x/gateway', {
      '@x/transport': '1.0.0',
      '@x/kubernetes': '1.0.0',
    }),
    'simulators/package.json': manifest('@roundhouse/simulators', {}),
    ...changes,
  });
}

async function problemsWith(changes: Readonly<Record<string, string>>): Promise<readonly string[]> {
  await using repository = await plant(changes);
  return await arrows.run(repository.root);
}

suite('arrows', () => {
  test('a repository that obeys its drawing has no problems', async () => {
    assert.deepEqual(await problemsWith({}), []);
  });

  test('an arrow in package.json that is not drawn is a problem', async () => {
    const back = JSON.stringify({ name: '@x/transport', dependencies: { '@x/kubernetes': '1.0.0' } });
    assert.deepEqual(
      await problemsWith({
        'packages/transport/package.json': back,
        'packages/transport/src/index.ts': '',
        'packages/transport/test/pool.test.ts': '',
      }),
      ['packages/transport -> packages/kubernetes: package.json has an arrow that the drawing has not'],
    );
  });

  test('a package from outside that the drawing excludes is a problem', async () => {
    const more = JSON.stringify({ name: '@x/transport', dependencies: { undici: '8.0.0', pino: '1.0.0' } });
    assert.deepEqual(
      await problemsWith({
        'packages/transport/package.json': more,
        'packages/transport/test/pool.test.ts': '',
      }),
      ['packages/transport: depends on pino; the drawing allows undici only'],
    );
  });

  test('an import that package.json does not list is a problem, in src/ also when only tests may have it', async () => {
    const source =
      "import { x } from '@roundhouse/simulators';\nexport * from '@x/kubernetes';\nawait import('fast-check');\n";
    assert.deepEqual(await problemsWith({ 'packages/transport/src/index.ts': source }), [
      'packages/transport/src/index.ts: imports @roundhouse/simulators, which its package.json does not list under dependencies',
      'packages/transport/src/index.ts: imports @x/kubernetes, which its package.json does not list under dependencies',
      'packages/transport/src/index.ts: imports fast-check, which its package.json does not list under dependencies',
    ]);
  });

  test('reaching into another package by path is a problem', async () => {
    assert.deepEqual(
      await problemsWith({
        'packages/kubernetes/src/index.ts': "export * from '../../transport/src/pool.ts';\n",
      }),
      [
        'packages/kubernetes/src/index.ts: imports ../../transport/src/pool.ts, a file of another package, by path',
      ],
    );
  });

  test('a workspace that is not drawn is a problem', async () => {
    assert.deepEqual(
      await problemsWith({ 'apps/surprise/package.json': JSON.stringify({ name: '@x/surprise' }) }),
      ['apps/surprise: not in the drawing of docs/architecture.md'],
    );
  });

  test('a drawing whose arrow points at nothing is refused', () => {
    assert.throws(
      () => readRooms(drawing.replace('-> transport. Words', '-> transprot. Words')),
      /from packages\/kubernetes to "transprot"/,
    );
  });

  test('imports are found in every form, and not in comments', () => {
    const source = [
      "import a from 'a';",
      "import type { B } from 'b';",
      "import {\n  c,\n  d,\n} from 'c';",
      "export { e } from 'e';",
      "export * as f from 'f';",
      "import 'g';",
      "const h = await import('h');",
      "// import x from 'not-this';",
      "/* import y from 'nor-this'; */",
      "const text = 'from';",
    ].join('\n');
    assert.deepEqual(importsOf(source).toSorted(), ['a', 'b', 'c', 'e', 'f', 'g', 'h']);
  });
});
