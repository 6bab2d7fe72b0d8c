import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { looseEnds } from '../check/loose-ends.ts';
import { plantRepository } from './planted-repository.ts';

async function found(file: string, line: string): Promise<readonly string[]> {
  await using repository = await plantRepository({ [file]: `${line}\n` });
  return await looseEnds.run(repository.root);
}

suite('loose ends', () => {
  const planted = [
    "test.only('x', () => {});",
    "test('x', { only: true }, () => {});",
    "test.skip('x', () => {});",
    "describe.todo('x');",
    "test('x', { skip: true }, () => {});",
    't.skip();',
    'assert.ok(true);',
    '// TODO later',
    '// @ts-expect-error why not',
  ];
  for (const line of planted) {
    test(`is found in a test: ${line}`, async () => {
      assert.equal((await found('a/test/x.test.ts', line)).length, 1);
    });
  }

  test('a skip with a computed reason is none', async () => {
    assert.deepEqual(await found('a/test/x.test.ts', "test('x', { skip: reason }, () => {});"), []);
    assert.deepEqual(await found('a/test/x.test.ts', "t.skip('no Go toolchain here');"), []);
  });

  test('what is meant for tests is not looked for in sources', async () => {
    assert.deepEqual(await found('a/src/x.ts', 'list.skip();'), []);
    assert.equal((await found('a/src/x.ts', '// FIXME')).length, 1);
  });
});
