/** The sessions that are open, so that they can be listed and ended one by one. */

import type { Session } from './session.ts';

export class OpenSessions {
  /** By id; each leaves when it is over. Bounded by the pool's limits on upgraded connections. */
  readonly #sessions = new Map<string, Session>();

  get size(): number {
    return this.#sessions.size;
  }

  [Symbol.iterator](): IterableIterator<Session> {
    return this.#sessions.values();
  }

  find(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** Its end takes it out again. */
  add(session: Session): Disposable {
    this.#sessions.set(session.facts.id, session);
    return {
      [Symbol.dispose]: () => {
        this.#sessions.delete(session.facts.id);
      },
    };
  }
}
