import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** For what other programs do, which announce it by no event. */
export async function untilTrue(
  holds: () => Promise<boolean>,
  what: string,
  limitMs = 15_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    assert.ok(performance.now() < end, `not within ${limitMs} ms: ${what}`);
    await delay(50);
  }
}
