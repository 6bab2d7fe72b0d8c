/** What there is, for whoever looks: plain data without a secret. */

import type { ServerSnapshot } from './session/proxy-server.ts';
import type { TargetSnapshot } from './target-places.ts';
import type { TunnelNumbers } from './way.ts';

export interface TunnelSnapshot extends TunnelNumbers {
  readonly id: string;
  readonly mode: 'grpc' | 'http-connect';
  readonly state: 'open' | 'closing' | 'closed';
  readonly servers: readonly ServerSnapshot[];
  readonly byTarget: readonly TargetSnapshot[];
  readonly sessionsOpened: number;
  readonly sessionsFailed: number;
  readonly goaways: number;
  /** Dials that went to a second proxy-server. */
  readonly redials: number;
  readonly stalls: number;
  /** Answers to dials that had been given up. */
  readonly lateAnswers: number;
  readonly foreignPackets: number;
  readonly closeTimeouts: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}
