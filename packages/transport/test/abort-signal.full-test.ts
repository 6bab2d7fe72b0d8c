/** The long form of `abort-signal.test.ts`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendWithOneSignal } from './rig/one-signal.ts';
import { turns } from './rig/until.ts';

test('BB-61: 200,000 requests with one signal leave neither listeners nor memory behind', async () => {
  await sendWithOneSignal(20_000);
  const before = await heapAfterCollection();
  await sendWithOneSignal(200_000);
  const grownBytes = (await heapAfterCollection()) - before;
  // A listener, closure and exchange each would be some 100 MB.
  assert.ok(grownBytes < 8 * 1_048_576, `${grownBytes} bytes`);
});

async function heapAfterCollection(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    // What the last collection has finalised leaves in between.
    await turns(50);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}
