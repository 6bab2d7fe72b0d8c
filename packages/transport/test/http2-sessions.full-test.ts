/** The long form of what `http2-sessions.test.ts` does with sessions that are reset. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectGarbage } from '@roundhouse/simulators';
import { ResetSessions } from './rig/reset-sessions.ts';

test('BB-34: 2,000 sessions that are reset in the middle of a write leave no memory behind', async () => {
  await using sessions = await ResetSessions.open();
  await sessions.run(400);
  const before = await heapAfterCollection();
  await sessions.run(1_600);
  const grownBytes = (await heapAfterCollection()) - before;
  // Buffers of 64 KiB that stay with each would be 100 MB.
  assert.ok(grownBytes < 8 * 1_048_576, `${grownBytes} bytes`);
});

/** Buffers included. */
async function heapAfterCollection(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
