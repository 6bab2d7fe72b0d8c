/** The way of a request through the rooms. Whatever a room throws becomes the answer; whatever happens is counted once. */

import { isDeepStrictEqual } from 'node:util';
import type { AuditLog } from './observability/audit-log.ts';
import { auditOutcome, auditRecord } from './observability/audit-record.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import type { AskedCluster, Authorizer } from './authorization/authorizer.ts';
import type { ClusterRegistry } from './clusters/cluster-registry.ts';
import { GatewayError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { answerFailure, asRoundhouseError } from './forwarding/failure-answer.ts';
import { forward } from './forwarding/forward.ts';
import type { ForwardingLimits } from './forwarding/forward.ts';
import { refuseForeignPage } from '@roundhouse/process';
import type { Incoming } from './listener/front-listener.ts';
import { readFrontRequest } from './listener/front-request.ts';
import type { FrontRequest } from './listener/front-request.ts';
import type { Reply } from './listener/reply.ts';
import { traceIdOf } from './listener/trace-context.ts';
import type { AccessLog } from './observability/access-log.ts';
import type { GatewayMetrics } from './observability/gateway-metrics.ts';
import type { OpenExchanges } from './open-exchanges.ts';
import type { RequestIds } from './request-ids.ts';
import { findRoute } from './routing/route.ts';
import type { OpenSessions } from './sessions/open-sessions.ts';

export interface Rooms {
  /** Whether requests may come from web pages of this machine's browser, and must be looked at for that. */
  readonly guarded: boolean;
  readonly maxHeadBytes: number;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly clusters: ClusterRegistry;
  readonly limits: ForwardingLimits;
  readonly open: OpenExchanges;
  readonly requestIds: RequestIds;
  readonly sessions: OpenSessions;
  readonly metrics: GatewayMetrics;
  readonly accessLog: AccessLog;
  /** Undefined where none is wanted. */
  readonly audit: AuditLog | undefined;
}

/** Never rejects. */
export async function serve(
  rooms: Rooms,
  incoming: Incoming,
  reply: Reply,
  expectsContinue: boolean,
): Promise<void> {
  const exchange: Exchange = { id: rooms.requestIds.next(), startedAt: performance.now(), reply, bytesIn: 0 };
  reply.ownFields.push('X-Roundhouse-Request-Id', exchange.id);
  rooms.metrics.requestStarted();
  const entry = rooms.open.enter();
  // Not `using`: for something that every request does, its stack of things to dispose of is dear.
  try {
    const request = readFrontRequest(incoming, expectsContinue, rooms.maxHeadBytes);
    exchange.request = request;
    exchange.traceId = traceIdOf(request.fields);
    guard(rooms, request);
    const caller = rooms.authenticator.authenticate(request);
    // Most callers are known at once, and a turn of the event loop is not free.
    exchange.caller = caller instanceof Promise ? await caller : caller;
    exchange.route = findRoute(request.method, request.target);
    const asked = exchange.route.clusterName;
    const found = rooms.clusters.find(asked);
    // Before it is said whether there is such a cluster: who has no right on it must not learn that.
    const named = { name: found?.name ?? asked, asked };
    exchange.subject = rooms.authorizer.subjectOf(exchange.caller, named, request.fields);
    exchange.rule = rooms.authorizer.authorize(exchange.subject, named, exchange.route);
    exchange.cluster = found ?? unknownCluster(asked);
    // Whatever is upgraded may last for days, also where the kube-apiserver would not say so of its path.
    if (exchange.route.info.longRunning || request.upgrade !== undefined) {
      rooms.metrics.longRunningStarted(exchange);
      rooms.audit?.write(auditRecord(exchange, 'Started'));
    }
    const { subject, route, cluster } = exchange;
    const { error, upstreamAuditId } = await forward(
      {
        id: exchange.id,
        request,
        reply,
        caller: exchange.caller,
        subject,
        traced: exchange.traceId !== undefined,
        route,
        cluster,
        sessions: rooms.sessions,
        allowedNow: () => allowedNow(rooms, exchange, named),
        received: (bytes) => {
          exchange.bytesIn += bytes;
        },
      },
      rooms.limits,
      (stop) => {
        entry.forwarding = stop;
      },
    );
    exchange.upstreamAuditId = upstreamAuditId;
    if (error !== undefined) {
      exchange.error = error;
    }
  } catch (thrown) {
    const error = asRoundhouseError(thrown);
    exchange.error = error;
    refuse(reply, error);
  } finally {
    entry.leave();
    account(rooms, exchange);
  }
}

/** What lasts may outlive what it was allowed by. A token of an issuer is not asked for again: it expires, and is not taken back. */
async function allowedNow(
  { authenticator, authorizer }: Rooms,
  { request, caller, subject, route }: Exchange,
  named: AskedCluster,
): Promise<boolean> {
  if (request === undefined || caller === undefined || route === undefined) {
    return false;
  }
  try {
    const known = caller.method === 'oidc' ? caller : await authenticator.authenticate(request);
    const present = authorizer.subjectOf(known, named, request.fields);
    authorizer.authorize(present, named, route);
    // With other groups, for instance, the cluster would see somebody else.
    return isDeepStrictEqual(present, subject);
  } catch {
    return false;
  }
}

function guard({ guarded, audit }: Rooms, { host, origin }: FrontRequest): void {
  const reason = guarded ? refuseForeignPage(host, origin) : undefined;
  if (reason !== undefined) {
    throw new GatewayError('ERR_RH_FOREIGN_PAGE', reason);
  }
  if (audit?.refusal !== undefined) {
    throw new GatewayError('ERR_RH_AUDIT_UNAVAILABLE', audit.refusal);
  }
}

function unknownCluster(name: string): never {
  throw new GatewayError('ERR_RH_CLUSTER_UNKNOWN', `there is no cluster "${name}"`);
}

function refuse(reply: Reply, error: ReturnType<typeof asRoundhouseError>): void {
  try {
    if (reply.started) {
      reply.reset();
    } else {
      answerFailure(reply, error);
    }
  } catch {
    // The client's connection broke under the answer; its end is all that is left to do.
    reply.reset();
  }
}

function account({ metrics, accessLog, audit }: Rooms, exchange: Exchange): void {
  const { reply, error, startedAt } = exchange;
  const durationMs = performance.now() - startedAt;
  // What was switched was answered; how the session ended is another matter.
  const switched = reply.status === 101 || (exchange.request?.upgrade !== undefined && reply.status === 200);
  const code = error?.httpStatus === 499 && !switched ? 499 : reply.status || 499;
  metrics.requestEnded(exchange, code, durationMs);
  accessLog.ended(exchange, code, durationMs);
  audit?.write({
    ...auditRecord(exchange, 'ResponseComplete'),
    ...auditOutcome(exchange, code, durationMs),
  });
}
