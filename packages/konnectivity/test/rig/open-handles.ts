/** Every suite ends with nothing open: no socket of this process, no timer, whatever the tests have done. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { turns, until } from './until.ts';

const watched = /^(?:TCP|TLS|Timeout|Pipe)/;

function openHandles(): string[] {
  return process.getActiveResourcesInfo().filter((resource) => watched.test(resource));
}

/** Call it once at the top of a test file. */
export function endsWithNothingOpen(): void {
  // What the test runner itself holds.
  const before = openHandles().length;
  after(async () => {
    await turns();
    await until(() => openHandles().length <= before, 'nothing open', 2_000).catch(() => undefined);
    assert.deepEqual(openHandles().slice(before), []);
  });
}
