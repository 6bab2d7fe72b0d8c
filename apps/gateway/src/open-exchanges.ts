/** What is under way, so that a shutdown can wait for it and then end it. */

import type { StopForwarding } from './forwarding/forward.ts';

export class OpenExchanges {
  /** Each leaves when it is over; bounded by the transport's limits on requests and streams, and by the front's connections. */
  readonly #open = new Set<Entry>();

  get size(): number {
    return this.#open.size;
  }

  enter(): Entry {
    const entry = new Entry(this.#open);
    this.#open.add(entry);
    return entry;
  }

  /** Ends all that can be ended. */
  stopAll(): void {
    for (const entry of this.#open) {
      entry.forwarding?.stop();
    }
  }
}

class Entry {
  forwarding: StopForwarding | undefined;
  readonly #among: Set<Entry>;

  constructor(among: Set<Entry>) {
    this.#among = among;
  }

  leave(): void {
    this.#among.delete(this);
  }
}
