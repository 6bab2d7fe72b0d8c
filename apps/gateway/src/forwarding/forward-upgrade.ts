/**
 * Asks a cluster to go on in another protocol, and when it does, relays until both sides are over. Until the cluster has agreed to
 * what was asked, not one byte of the client's goes on, whatever it sends: a relay in front of a cluster that did not agree is a
 * way to send it requests with the gateway's own rights (CVE-2018-1002105).
 */

import { randomBytes } from 'node:crypto';
import { failureStatus } from '@roundhouse/kubernetes';
import type { OrdinaryAnswer, SwitchedAnswer, UpgradeAnswer } from '@roundhouse/transport';
import { actionOf } from '../authorization/action.ts';
import { GatewayError } from '../errors.ts';
import { speaksWithOwnCredential } from '../identity/outgoing-identity.ts';
import { forEachField } from '../listener/field-list.ts';
import type { FrontRequest } from '../listener/front-request.ts';
import type { SessionSide, UpgradeReply } from '../listener/upgrade-reply.ts';
import type { OpenSessions } from '../sessions/open-sessions.ts';
import { Session } from '../sessions/session.ts';
import { refusalOfAnswer } from './answer-refusal.ts';
import { auditIdIn } from './audit-id.ts';
import { clientGone } from './client-gone.ts';
import type { Forwarding, ForwardingLimits, ForwardingResult, StopForwarding } from './forward.ts';
import { responseFields } from './response-fields.ts';
import { SessionRelay } from './session-relay.ts';

export interface UpgradeForwarding extends Omit<Forwarding, 'reply'> {
  readonly reply: UpgradeReply;
  /** What the client asks for, as it is spelled. */
  readonly protocol: string;
  readonly sessions: OpenSessions;
}

/**
 * @param fields of the request, with those that say who is calling
 * @param started is given the way to end it at the drain limit of a shutdown
 * @throws what refuses the request, or what the cluster failed with, before anything was answered
 */
export async function forwardUpgrade(
  forwarding: UpgradeForwarding,
  fields: readonly string[],
  limits: ForwardingLimits,
  started: (stop: StopForwarding) => void,
): Promise<ForwardingResult> {
  const { request, reply, route, cluster, protocol } = forwarding;
  refuseForeignOrigin(forwarding);
  const asking = new AbortController();
  started({ stop: () => asking.abort(shuttingDown()) });
  reply.onClosed = () => asking.abort(clientGone());
  if (reply.closed) {
    asking.abort(clientGone());
  }
  const headers = request.protocol === 'h2' ? withWebSocketKey(fields) : fields;
  let answer: UpgradeAnswer;
  try {
    answer = await cluster.upgrade({
      method: request.method,
      path: `${cluster.basePath}${route.target.path}${route.target.query}`,
      protocol,
      headers,
      timeoutMs: limits.requestTimeoutMs,
      signal: asking.signal,
    });
  } catch (error) {
    throw asking.signal.aborted ? asking.signal.reason : error;
  }
  cluster.answered();
  const upstreamAuditId = auditIdIn(answer.headers);
  if (!answer.switched) {
    passOn(answer, forwarding);
    return { error: undefined, upstreamAuditId };
  }
  const side = switchClient(answer, headers, forwarding);
  const relay = new SessionRelay(
    side,
    answer,
    protocol,
    {
      stallTimeoutMs: limits.sessionStallTimeoutMs,
      halfClosedTimeoutMs: limits.sessionHalfClosedTimeoutMs,
    },
    { received: forwarding.received, sent: (bytes) => reply.relayed(bytes) },
  );
  const over = forwarding.sessions.hold(new Session(factsOf(forwarding), relay, forwarding.allowedNow));
  started({ stop: () => relay.stop(shuttingDown()) });
  relay.start();
  return { error: await over, upstreamAuditId };
}

/** The cluster's side ends with whatever goes wrong here: nobody else has it. */
function switchClient(
  answer: SwitchedAnswer,
  asked: readonly string[],
  { request, reply, cluster, protocol }: UpgradeForwarding,
): SessionSide {
  try {
    refuseUnaskedStreamProtocol(answer, asked, cluster.name);
    if (reply.closed) {
      throw clientGone();
    }
    return reply.switchProtocols(protocolIn(answer, protocol), switchedFields(answer, request));
  } catch (error) {
    answer.reset();
    throw error;
  }
}

function factsOf({ id, caller, subject, cluster, route, protocol }: UpgradeForwarding): Session['facts'] {
  return { id, caller, subject, cluster: cluster.name, action: actionOf(route), protocol };
}

/**
 * A page of any site can open a WebSocket, and the browser shows the user's certificate along with it. A token it has to know.
 */
function refuseForeignOrigin({ request: { origin, host }, caller }: UpgradeForwarding): void {
  if (origin === undefined || caller.method !== 'certificate') {
    return;
  }
  const site = URL.parse(origin)?.host;
  if (site === undefined || site === '' || site !== host?.toLowerCase()) {
    throw new GatewayError(
      'ERR_RH_FOREIGN_PAGE',
      'a page of another site asks for a connection with the certificate of its visitor',
    );
  }
}

/** Over HTTP/2 a key means nothing (RFC 8441, section 5), and over HTTP/1.1 it must be there: one, and of our own. */
function withWebSocketKey(fields: readonly string[]): string[] {
  const kept: string[] = [];
  forEachField(fields, (name, value) => {
    if (name.toLowerCase() !== 'sec-websocket-key') {
      kept.push(name, value);
    }
  });
  return [...kept, 'Sec-WebSocket-Key', randomBytes(16).toString('base64')];
}

/** Kubernetes' own negotiation beside SPDY: the server may only choose among what was offered. */
function refuseUnaskedStreamProtocol(
  { headers }: SwitchedAnswer,
  asked: readonly string[],
  cluster: string,
): void {
  const name = 'x-stream-protocol-version';
  const chosen = headers[name];
  const offered: string[] = [];
  forEachField(asked, (field, value) => {
    if (field.toLowerCase() === name) {
      offered.push(...value.split(',').map((item) => item.trim()));
    }
  });
  if (chosen !== undefined && !(typeof chosen === 'string' && offered.includes(chosen))) {
    throw new GatewayError(
      'ERR_RH_UPGRADE_REFUSED',
      `cluster ${cluster} chose a stream protocol that was not offered`,
    );
  }
}

/** As the cluster spells it, which is as it was asked but for the case of its letters. */
function protocolIn({ headers }: SwitchedAnswer, asked: string): string {
  return headers.upgrade ?? asked;
}

function switchedFields({ rawHeaders }: SwitchedAnswer, { protocol }: FrontRequest): string[] {
  const kept: string[] = [];
  forEachField(responseFields(rawHeaders).fields, (name, value) => {
    const lower = name.toLowerCase();
    // The answer to a key that the client did not send.
    if (lower !== 'content-length' && !(protocol === 'h2' && lower === 'sec-websocket-accept')) {
      kept.push(name, value);
    }
  });
  return kept;
}

/**
 * The cluster's reason goes to the client, and both connections end.
 *
 * @throws ERR_RH_UPGRADE_REFUSED where it has none, and for answers that are never passed on
 */
function passOn(answer: OrdinaryAnswer, { reply, cluster }: UpgradeForwarding): void {
  const { statusCode, headers, complete, body } = answer;
  const refusal =
    refusalOfAnswer(statusCode, headers, {
      cluster: cluster.name,
      ownCredential: speaksWithOwnCredential(cluster.identityMode),
    }) ?? (statusCode < 400 ? notSwitched(statusCode, cluster.name) : undefined);
  if (refusal !== undefined) {
    throw refusal;
  }
  const fields: string[] = [];
  forEachField(responseFields(answer.rawHeaders).fields, (name, value) => {
    if (name.toLowerCase() !== 'content-length' && (complete || !aboutBody.has(name.toLowerCase()))) {
      fields.push(name, value);
    }
  });
  const text = complete ? body : tooLarge(statusCode, cluster.name);
  reply.start(
    statusCode,
    [
      ...fields,
      ...(complete ? [] : ['Content-Type', 'application/json']),
      'Content-Length',
      String(text.length),
    ],
    false,
  );
  reply.write(text);
  reply.end();
}

const aboutBody: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'etag', 'last-modified']);

function shuttingDown(): GatewayError {
  return new GatewayError('ERR_RH_SHUTTING_DOWN', 'the gateway is shutting down');
}

function notSwitched(status: number, cluster: string): GatewayError {
  return new GatewayError(
    'ERR_RH_UPGRADE_REFUSED',
    `cluster ${cluster} answered ${status} to a request that asks to go on in another protocol`,
  );
}

function tooLarge(code: number, cluster: string): Buffer {
  const status = failureStatus({
    code,
    message: `cluster ${cluster} refused the request with ${code} and a text that is too long to pass on`,
    cause: { reason: 'ERR_RH_UPGRADE_REFUSED' },
  });
  return Buffer.from(`${JSON.stringify(status)}\n`);
}
