/** The same as goaway.test.ts at the size of the report: GOAWAY for 2 of 100 writes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postUnderGoaways } from './support/goaway-run.ts';

test('BB-27: 2,000 POSTs with a body, and a GOAWAY for 2 of 100', { timeout: 600_000 }, async (t) => {
  const { succeeded, refused, goaways } = await postUnderGoaways(t, { posts: 2_000, goawayEvery: 50 });
  assert.equal(succeeded + refused, 2_000);
  assert.ok(goaways >= 30, `${goaways} GOAWAYs`);
  // A GOAWAY refuses what one connection has under way, and no more.
  assert.ok(refused <= goaways * 8, `${refused} refused`);
});
