/** The garbage collector on demand, for tests of what is still held. It needs no flag of the process. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects a few times, a turn of the event loop apart, so that finalizers run and what they let go is collected, too. */
export async function collectGarbage(): Promise<void> {
  const collect = findCollector();
  for (let round = 0; round < 3; round += 1) {
    await nextTurn();
    collect();
  }
  await nextTurn();
}

function findCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('gc');
  if (typeof found !== 'function') {
    throw new TypeError('This Node.js has no collector to call');
  }
  return () => void Reflect.apply(found, undefined, []);
}
