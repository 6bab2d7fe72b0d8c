/** The answer to a request that asks to go on in another protocol: an ordinary one, or the switch. */

import type { Duplex } from 'node:stream';
import type { Reply } from './reply.ts';

/** One end of a relayed session. */
export interface SessionSide {
  /** Half-open, paused, and its holder's to end. What came early is in it. */
  readonly socket: Duplex;
  /** Ends it in a way that is not taken for a good end. */
  reset(): void;
  /** Finds out whether the other end has broken it off, also while nothing is read: then it closes. */
  look(): void;
}

export interface UpgradeReply extends Reply {
  /**
   * Sends the head that agrees, and hands the connection over. Instead of `start`, and only while it is not `closed`.
   *
   * @param protocol as the cluster spells it
   * @param fields of the cluster's answer, without those of the connection to it
   */
  switchProtocols(protocol: string, fields: readonly string[]): SessionSide;
  /** Counts what was sent after the switch with the rest. */
  relayed(bytes: number): void;
}

export function isUpgradeReply(reply: Reply): reply is UpgradeReply {
  return 'switchProtocols' in reply;
}
