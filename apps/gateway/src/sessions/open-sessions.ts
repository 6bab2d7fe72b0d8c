/** The sessions that are open, so that they can be listed and ended one by one. */

import type { RoundhouseError } from '@roundhouse/transport';
import type { Session } from './session.ts';

/** Is told of each session twice. */
export interface SessionObserver {
  started(session: Session): void;
  /** @param error nothing after a good end */
  ended(session: Session, error: RoundhouseError | undefined): void;
}

export class OpenSessions {
  readonly #observer: SessionObserver;
  /** By id; each leaves when it is over. Bounded by the pool's limits on upgraded connections. */
  readonly #sessions = new Map<string, Session>();

  constructor(observer: SessionObserver) {
    this.#observer = observer;
  }

  [Symbol.iterator](): IterableIterator<Session> {
    return this.#sessions.values();
  }

  find(id: string): Session | undefined {
    return this.#sessions.get(id);
  }

  /** Ends those that would not be allowed any more: who may call, or what callers may do, has changed. */
  review(): void {
    for (const session of this.#sessions.values()) {
      void session.review();
    }
  }

  /** Keeps it until it is over. Resolves as the session does; never rejects. */
  async hold(session: Session): Promise<RoundhouseError | undefined> {
    this.#sessions.set(session.facts.id, session);
    this.#observer.started(session);
    // It may have changed while the cluster was asked.
    void session.review();
    const error = await session.over;
    this.#sessions.delete(session.facts.id);
    this.#observer.ended(session, error);
    return error;
  }
}
