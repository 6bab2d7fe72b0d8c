import { setTimeout as delay } from 'node:timers/promises';

/** What a real server does in a moment, this waits for; twenty seconds at the most, which a busy machine may need, unless it is known to take longer. */
export async function until(holds: () => Promise<boolean>, limitMs = 20_000): Promise<void> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (await holds()) return;
    await delay(50);
  }
  throw new Error(`it did not come about within ${limitMs / 1000} seconds`);
}
