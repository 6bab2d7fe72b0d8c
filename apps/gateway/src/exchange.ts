/**
 * One request and its answer on their way through the rooms. Each room adds its part and none reaches back: what a room needs
 * is there when it is its turn.
 */

import type { RoundhouseError } from '@roundhouse/transport';
import type { Caller } from './authentication/caller.ts';
import type { Cluster } from './clusters/cluster.ts';
import type { FrontRequest } from './listener/front-request.ts';
import type { Reply } from './listener/reply.ts';
import type { Route } from './routing/route.ts';

export interface Exchange {
  /** Told in the log and, on failures of ours, to the client. */
  readonly id: string;
  /** On the scale of `performance.now()`. */
  readonly startedAt: number;
  readonly reply: Reply;
  /** From the listener. */
  request?: FrontRequest;
  /** From authentication. */
  caller?: Caller;
  /** From routing. */
  route?: Route;
  /** From authorisation: whom the request is made as, the caller or whom the caller may act as. */
  subject?: Caller;
  /** From authorisation: the rule that allowed it. */
  rule?: string | undefined;
  /** From clusters. */
  cluster?: Cluster;
  /** From the listener: the trace that the client says the request belongs to. */
  traceId?: string | undefined;
  /** From forwarding: by which the cluster's own audit log knows the request. */
  upstreamAuditId?: string | undefined;
  /** From forwarding: bytes behind the head of the request, so far. */
  bytesIn: number;
  /** What went wrong, wherever it did. */
  error?: RoundhouseError;
}
