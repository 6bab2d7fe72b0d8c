/** What the two modes have in common, as the dialer sees them. */

import type { Duplex } from 'node:stream';
import type { Clock } from './clock.ts';
import type { TunnelCounts } from './counts.ts';
import type { TunnelTarget } from './dial-target.ts';
import type { TunnelLimits } from './limits.ts';
import type { ServerIdentity } from './server-address.ts';
import type { ServerSnapshot } from './session/proxy-server.ts';
import type { Resolve } from './session/proxy-servers.ts';
import type { TargetPlace } from './target-places.ts';

export interface WayOptions {
  readonly identity: ServerIdentity;
  readonly resolve: Resolve;
  readonly clock: Clock;
  readonly limits: TunnelLimits;
  readonly counts: TunnelCounts;
  /** Called when something has ended. */
  readonly onChange: () => void;
}

export interface TunnelNumbers {
  readonly dialing: number;
  readonly open: number;
  /** Of no use to anybody any more, and not ended yet. */
  readonly closing: number;
  /** Received and not read. */
  readonly bufferedBytes: number;
}

export interface Way {
  /** Nothing is open, and nothing is being opened. */
  readonly empty: boolean;
  /** @param place is kept until the tunnel has ended */
  dial(target: TunnelTarget, place: TargetPlace, signal: AbortSignal): Promise<Duplex>;
  bottomOf(connection: Duplex): Duplex | undefined;
  tunnels(): TunnelNumbers;
  servers(): readonly ServerSnapshot[];
  /** No new sessions; those that are there end behind their last tunnel. */
  retire(why: string): void;
  destroy(cause: Error): void;
}
