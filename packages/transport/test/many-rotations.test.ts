/** What `material-rotation.test.ts` does with certificates that are replaced again and again, for long enough to see memory grow. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectGarbage } from '@roundhouse/simulators';
import { rotateOften } from './rig/many-rotations.ts';

test('BB-05: 20 endpoints and 300 rotations of each: 20 transports and flat memory', async () => {
  const samples: number[] = [];
  await rotateOften({ endpoints: 20, rotations: 300 }, async (rotation) => {
    if (rotation % 50 === 0) {
      await collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      samples.push(heapUsed + external);
    }
  });
  // Neither what warms up at the start counts nor what drains just then; 20 × 150 contexts of TLS that stay would be 100 MB.
  const grownBytes = samples.at(-1)! - samples.at(-4)!;
  assert.ok(grownBytes < 8 * 1_048_576, `${grownBytes} bytes in ${samples.join(', ')}`);
});
