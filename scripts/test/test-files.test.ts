import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findTests } from '../test-files.ts';
import { plantRepository } from './planted-repository.ts';

const files = {
  'packages/a/test/one.test.ts': '',
  'packages/a/test/deep/two.test.ts': '',
  'packages/a/test/slow.full-test.ts': '',
  'packages/a/test/no-test-but-part-of-one.ts': '',
  'packages/a/src/three.test.ts': '',
  'apps/b/test/four.test.ts': '',
  'simulators/test/five.test.ts': '',
  'scripts/test/six.test.ts': '',
  'test/peers/seven.test.ts': '',
};

suite('npm test', () => {
  test('takes every workspace and the scripts; test:full adds the long ones, test:peers is apart', async () => {
    await using repository = await plantRepository(files);
    const short = [
      'apps/b/test/four.test.ts',
      'packages/a/test/deep/two.test.ts',
      'packages/a/test/one.test.ts',
      'scripts/test/six.test.ts',
      'simulators/test/five.test.ts',
    ];
    assert.deepEqual(await findTests(repository.root, 'short', []), short);
    assert.deepEqual(
      await findTests(repository.root, 'full', []),
      [...short, 'packages/a/test/slow.full-test.ts'].toSorted(),
    );
    assert.deepEqual(await findTests(repository.root, 'peers', []), ['test/peers/seven.test.ts']);
  });

  test('words pick the files whose path contains one of them', async () => {
    await using repository = await plantRepository(files);
    assert.deepEqual(await findTests(repository.root, 'short', ['four', 'deep/']), [
      'apps/b/test/four.test.ts',
      'packages/a/test/deep/two.test.ts',
    ]);
    assert.deepEqual(await findTests(repository.root, 'short', ['nothing']), []);
  });
});
