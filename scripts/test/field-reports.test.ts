import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { heldBy, promisedIn } from '../docs/field-reports.ts';

suite('what is promised by name', () => {
  test('is found in titles of tests and suites, in all quotes and on any line, and nowhere else', () => {
    const source = [
      `test('BB-11: one', () => {});`,
      'test(\n    `BB-12, G3: ${what} of many`,\n async () => {});',
      'suite("W7: a suite", () => {});',
      `describe('of no name', () => {});`,
      `// BB-13 is elsewhere`,
      `const other = 'G4';`,
    ].join('\n');
    assert.deepEqual([...promisedIn(source)], ['BB-11', 'BB-12', 'G3', 'W7']);
  });

  test('must be held by a test, or say why it is not', () => {
    const promised = { id: 'W99', holds: 'Something.' };
    assert.throws(() => heldBy(promised, new Set()), /^Error: no test has W99 in its title$/);
    assert.equal(heldBy({ ...promised, open: 'Later.' }, new Set()), '*Later.*');
    assert.equal(
      heldBy(promised, new Set(['packages/a/test/b.test.ts'])),
      '[b.test.ts](../packages/a/test/b.test.ts)',
    );
  });
});
