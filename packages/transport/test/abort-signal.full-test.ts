/** The long form of `abort-signal.test.ts`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendWithOneSignal } from './rig/one-signal.ts';

test('BB-61: 200,000 requests with one signal leave neither listeners nor memory behind', async () => {
  await sendWithOneSignal(20_000);
  const before = heapAfterCollection();
  await sendWithOneSignal(200_000);
  const grownBytes = heapAfterCollection() - before;
  // A listener, closure and exchange each would be some 100 MB.
  assert.ok(grownBytes < 16 * 1_048_576, `${grownBytes} bytes`);
});

function heapAfterCollection(): number {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}
