import { setTimeout as delay } from 'node:timers/promises';

/** What a real server does in a moment, this waits for; five seconds at the most. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (await holds()) return;
    await delay(50);
  }
  throw new Error('it did not come about within five seconds');
}
