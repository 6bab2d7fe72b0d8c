/** Time as the simulator sees it, so that tests and demos decide when it passes. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  setTimeout(callback: () => void, ms: number): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout(callback, ms) {
    // setTimeout fires at once for anything above 2^31-1 ms.
    const timer = setTimeout(callback, Math.min(ms, 0x7fffffff));
    return { cancel: () => clearTimeout(timer) };
  },
};

/** RFC 3339 with microseconds, as metav1.MicroTime prints it. */
export function microTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/Z$/, '000Z');
}

/** RFC 3339 with seconds, as metav1.Time prints it. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
