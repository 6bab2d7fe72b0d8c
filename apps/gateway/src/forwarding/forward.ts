/** Sends a request on to its cluster and the answer back. Resolves when both sides are over. */

import type { RequestOptions, RoundhouseError } from '@roundhouse/transport';
import type { PresentCredential } from '@roundhouse/kubernetes';
import type { Caller } from '../authentication/caller.ts';
import type { Cluster } from '../clusters/cluster.ts';
import { GatewayError } from '../errors.ts';
import { clientFields } from '../identity/client-fields.ts';
import { outgoingIdentity, speaksWithOwnCredential } from '../identity/outgoing-identity.ts';
import type { FrontRequest } from '../listener/front-request.ts';
import type { Reply } from '../listener/reply.ts';
import { isUpgradeReply } from '../listener/upgrade-reply.ts';
import type { Route } from '../routing/route.ts';
import { lifetimeMsOf } from '../routing/stream-bounds.ts';
import type { OpenSessions } from '../sessions/open-sessions.ts';
import { auditIdIn } from './audit-id.ts';
import { forwardUpgrade } from './forward-upgrade.ts';
import { obtainOwnCredential, renewRefused } from './own-credential.ts';
import { Relay } from './relay.ts';
import { RequestBody } from './request-body.ts';

export interface ForwardingLimits {
  /** A short request as a whole. */
  readonly requestTimeoutMs: number;
  /** A watch that does not say how long it wants to last. */
  readonly watchLifetimeMs: number;
  readonly clientStallTimeoutMs: number;
  /** A session of which either side takes nothing of what waits for it, or leaves a ping unanswered. */
  readonly sessionStallTimeoutMs: number;
  /** A session of which one side has ended and the other one says nothing. */
  readonly sessionHalfClosedTimeoutMs: number;
  readonly uploadSilenceMs: number;
}

export interface Forwarding {
  /** Of the request, in all logs. */
  readonly id: string;
  readonly request: FrontRequest;
  readonly reply: Reply;
  readonly caller: Caller;
  /** In whose name: the caller, or whom the caller may act as. */
  readonly subject: Caller;
  /** Whether the trace context that came is valid. */
  readonly traced: boolean;
  readonly route: Route;
  readonly cluster: Cluster;
  readonly sessions: OpenSessions;
  /** Whether the request would be let through now, as long after it as this is asked. Never rejects. */
  readonly allowedNow: () => Promise<boolean>;
  /** Told of each piece that comes from the client behind the head of the request. */
  readonly received: (bytes: number) => void;
}

/** Ends it at the drain limit of a shutdown. */
export interface StopForwarding {
  stop(): void;
}

export interface ForwardingResult {
  /** What went wrong; undefined when the client was served. */
  readonly error: RoundhouseError | undefined;
  /** By which the cluster's own audit log knows the request. */
  readonly upstreamAuditId: string | undefined;
}

/**
 * @param started is given the way to end it
 * @throws what refuses the request before anything was sent
 */
export async function forward(
  forwarding: Forwarding,
  limits: ForwardingLimits,
  started: (stop: StopForwarding) => void,
): Promise<ForwardingResult> {
  const { request, reply, caller, subject, traced, route, cluster } = forwarding;
  const impersonates = subject !== caller;
  if (impersonates) {
    refuseWhereNobodyIsNamed(cluster);
  }
  const kept = clientFields(request, { impersonates, traced });
  const fieldsWith = (own: PresentCredential): string[] => [
    ...kept,
    ...outgoingIdentity(cluster.identityMode, own, subject, request.authorization),
  ];
  let credential = cluster.presentCredential() ?? (await obtainOwnCredential(forwarding, started));
  const fields = fieldsWith(credential);
  if (request.upgrade !== undefined && isUpgradeReply(reply)) {
    const upgrade = { ...forwarding, reply, protocol: request.upgrade };
    return forwardUpgrade(upgrade, fields, limits, started).catch((error: unknown) => {
      renewRefused(cluster, credential, error);
      throw error;
    });
  }
  let upstreamAuditId: string | undefined;
  const relay = new Relay({
    reply,
    isWatch: route.info.verb === 'watch',
    isStream: route.info.longRunning,
    ownCredential: speaksWithOwnCredential(cluster.identityMode),
    cluster: cluster.name,
    clientStallTimeoutMs: limits.clientStallTimeoutMs,
    askAgain: !replayable.has(request.method) || request.body !== undefined ? undefined : () => askAgain(),
    onAnswer: (headers) => {
      cluster.answered();
      upstreamAuditId = auditIdIn(headers);
    },
  });
  started(relay);
  const body = bodyOf(forwarding, limits);
  const pathNow = (): string => `${cluster.basePath}${route.target.path}${route.target.query}`;
  const options: RequestOptions = {
    method: request.method,
    path: pathNow(),
    headers: fields,
    body,
    kind: route.info.longRunning ? 'stream' : 'unary',
    timeoutMs: limits.requestTimeoutMs,
    lifetimeMs: lifetimeMsOf(route, limits.watchLifetimeMs),
    // Not of whom they act as: that would be as many parties as they like.
    fairnessKey: caller.user,
  };
  const askAgain = async (): Promise<boolean> => {
    const isWorthIt = await cluster.renewCredential(credential);
    if (isWorthIt && !reply.closed) {
      credential = cluster.presentCredential() ?? (await cluster.obtainCredential());
      // The cluster may have moved meanwhile.
      cluster.dispatch({ ...options, path: pathNow(), headers: fieldsWith(credential) }, relay);
    }
    return isWorthIt;
  };
  try {
    cluster.dispatch(options, relay);
    const error = await relay.done;
    if (error !== undefined) {
      renewRefused(cluster, credential, error);
      cluster.failed(error);
    }
    return { error, upstreamAuditId };
  } finally {
    body?.destroy();
  }
}

/** Methods that change nothing (RFC 9110, section 9.2.1). */
const replayable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A cluster that is not told who is calling cannot be told that it is somebody else either. */
function refuseWhereNobodyIsNamed({ name, identityMode }: Cluster): void {
  if (identityMode !== 'impersonate') {
    throw new GatewayError(
      'ERR_RH_IDENTITY_FIELD_REFUSED',
      `cluster ${name} is asked in the identity mode ${identityMode}, in which nobody can act as somebody else`,
    );
  }
}

function bodyOf(
  { request: { body, expectsContinue }, reply, received }: Forwarding,
  { uploadSilenceMs }: ForwardingLimits,
): RequestBody | undefined {
  if (body === undefined) {
    return undefined;
  }
  const requestBody = new RequestBody({
    source: body,
    onWanted: () => {
      if (expectsContinue) {
        reply.proceed();
      }
    },
    onReceived: received,
    silenceMs: uploadSilenceMs,
  });
  // The transport reports it as the failure of the request; here it only must not end the process.
  requestBody.on('error', () => undefined);
  return requestBody;
}
