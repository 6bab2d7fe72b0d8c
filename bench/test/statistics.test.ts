import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median } from '../report/median.ts';
import { ratioOf } from '../report/statistics.ts';
import { plantedResults } from './planted-results.ts';

test('the median of an even number of values is between the middle two', () => {
  assert.equal(median([9, 1, 4]), 4);
  assert.equal(median([9, 1, 4, 6]), 5);
});

test('a ratio is formed round by round, so that a slow round of the machine counts for both', () => {
  const [result] = plantedResults().cases;
  assert.ok(result);
  assert.deepEqual(ratioOf(result, 'gateway', 'kubectl proxy'), { median: 2.5, least: 2, most: 3 });
});

test('there is no ratio to somebody who did not take part', () => {
  const [result] = plantedResults().cases;
  assert.ok(result);
  assert.equal(ratioOf(result, 'gateway', 'nginx'), undefined);
});
