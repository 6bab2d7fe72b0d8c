/**
 * How long a long-running request may last. A watch ends by itself within the time that it asked for; one that does not
 * was lost without a sign, and its client must be told. Logs and proxied streams have no such bound.
 */

import { firstParameter } from './query-parameters.ts';
import type { Route } from './route.ts';

/** For the end to come by itself, and for clocks that differ. */
const marginMs = 10_000;
/** A longer timer would fire at once; 24 days are no watch any more. */
const maxTimerMs = 2_147_483_647;

/** @param defaultMs for a watch that leaves the time to the cluster; undefined when there is no bound */
export function lifetimeMsOf({ info, target }: Route, defaultMs: number): number | undefined {
  if (info.verb !== 'watch') {
    return undefined;
  }
  const text = firstParameter(target.query, 'timeoutSeconds');
  const seconds = text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return seconds > 0 ? Math.min(seconds * 1000 + marginMs, maxTimerMs) : defaultMs;
}
