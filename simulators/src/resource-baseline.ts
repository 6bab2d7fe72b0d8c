/**
 * Holds a test to "nothing is left": what keeps this process alive and which sockets it has open are noted at the beginning, and at the
 * end there may be no more than that. Declared first in a test, it looks last:
 *
 * ```ts
 * await using baseline = ResourceBaseline.take();
 * ```
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { WaitOptions } from './change-signal.ts';
import { describeSockets, openSocketInodes } from './open-sockets.ts';

/** Neither Node nor the kernel says when a handle is gone for good, so this is the one place that looks again. */
const lookAgainMs = 10;

export class ResourceBaseline implements AsyncDisposable {
  /** Handles and requests by kind, as of `process.getActiveResourcesInfo()`. */
  readonly #active: ReadonlyMap<string, number>;
  readonly #sockets: ReadonlySet<string>;

  private constructor(active: ReadonlyMap<string, number>, sockets: ReadonlySet<string>) {
    this.#active = active;
    this.#sockets = sockets;
  }

  static take(): ResourceBaseline {
    return new ResourceBaseline(activeResources(), openSocketInodes());
  }

  /** What there is beyond the baseline now, a line each: `2 more TCPSocketWrap`, `TCP 127.0.0.1:1 -> 127.0.0.1:2 CLOSE_WAIT`. */
  excess(): readonly string[] {
    const handles = [...activeResources()]
      .map(([kind, count]) => [kind, count - (this.#active.get(kind) ?? 0)] as const)
      .filter(([, more]) => more > 0)
      .map(([kind, more]) => `${more} more ${kind}`);
    const sockets = [...openSocketInodes()].filter((inode) => !this.#sockets.has(inode));
    return [...handles, ...describeSockets(sockets)];
  }

  /** Resolves when nothing is left beyond the baseline; rejects with the list of it when something still is at the limit. */
  async returned(options: WaitOptions = {}): Promise<void> {
    const { timeoutMs = 5000 } = options;
    const limit = performance.now() + timeoutMs;
    for (;;) {
      // Read before the look, so that the last look is a whole time limit away from the first.
      const timeIsUp = performance.now() >= limit;
      const left = this.excess();
      if (left.length === 0) return;
      if (timeIsUp) throw new Error(`Still there after ${timeoutMs} ms:\n${left.join('\n')}`);
      // Only between two looks, so that this timer is never among what is found.
      await delay(lookAgainMs);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.returned();
  }
}

function activeResources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
