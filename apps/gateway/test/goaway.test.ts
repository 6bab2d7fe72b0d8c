/** GOAWAY under writes that have a body: nothing is executed twice, and what was not executed says that it may be sent again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postUnderGoaways } from './support/goaway-run.ts';

test('BB-27: each of 200 POSTs with a body under GOAWAYs is executed once and succeeds, or is not executed and is a 503 with Retry-After', async (t) => {
  const { succeeded, refused, goaways } = await postUnderGoaways(t, { posts: 200, goawayEvery: 10 });
  assert.equal(succeeded + refused, 200);
  assert.ok(goaways >= 10, `${goaways} GOAWAYs`);
  assert.ok(refused > 0);
});
