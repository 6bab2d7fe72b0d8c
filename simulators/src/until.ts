/** For what announces itself by no event that a test could wait for: looked at once a turn, up to a limit. */

import { setImmediate as nextTurn } from 'node:timers/promises';

export async function until(holds: () => boolean, what: string, timeoutMs = 5_000): Promise<void> {
  const limit = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() > limit) {
      throw new Error(`Not within ${timeoutMs} ms: ${what}`);
    }
    await nextTurn();
  }
}

/** Lets everything happen that is on its way already: some turns of the event loop. */
export async function turns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await nextTurn();
  }
}
