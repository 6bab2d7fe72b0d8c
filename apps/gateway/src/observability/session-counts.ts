/** What is counted of upgraded sessions: those that are open, and how the others ended. Plain numbers, as those of requests. */

import type { RoundhouseError } from '@roundhouse/transport';
import type { SessionObserver } from '../sessions/open-sessions.ts';
import { sessionEndOf } from '../sessions/session-end.ts';
import type { SessionEnd } from '../sessions/session-end.ts';
import type { Session } from '../sessions/session.ts';
import { ByCluster } from './by-cluster.ts';

export interface ClusterSessions {
  readonly cluster: string;
  /** By protocol in lower case, of which the listener lets two through. */
  readonly open: Map<string, number>;
  readonly ended: Map<SessionEnd, number>;
}

export class SessionCounts implements SessionObserver {
  readonly #clusters = new ByCluster<ClusterSessions>((cluster) => ({
    cluster,
    open: new Map(),
    ended: new Map(),
  }));

  get clusters(): Iterable<ClusterSessions> {
    return this.#clusters;
  }

  started(session: Session): void {
    this.#change(session, 1);
  }

  ended(session: Session, error: RoundhouseError | undefined): void {
    const { ended } = this.#change(session, -1);
    const why = sessionEndOf(error);
    ended.set(why, (ended.get(why) ?? 0) + 1);
  }

  #change({ facts: { cluster, protocol } }: Session, by: 1 | -1): ClusterSessions {
    const counts = this.#clusters.of(cluster);
    const spelled = protocol.toLowerCase();
    counts.open.set(spelled, (counts.open.get(spelled) ?? 0) + by);
    return counts;
  }
}
