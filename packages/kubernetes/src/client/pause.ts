/** A wait by the clock that a signal ends early. */

import type { Clock } from '@roundhouse/transport';

/** Resolves after `ms`, or at once when the signal says so; never rejects, so look at the signal behind it. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) {
    return;
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  const timer = clock.setTimeout(end, ms);
  signal?.addEventListener('abort', end, { once: true });
  await promise;
  timer.cancel();
  signal?.removeEventListener('abort', end);
}
