/**
 * One line a request, when it is over; for streams another one when they begin. Who, as whom, by which rule, what, and how it
 * ended. Never a query, which may have a command or a token in it, and never a field of the request.
 */

import type { Caller } from '../authentication/caller.ts';
import { actionOf, resourceFields } from '../authorization/action.ts';
import type { Exchange } from '../exchange.ts';

export type AuditStage = 'Started' | 'ResponseComplete';

export function auditRecord(exchange: Exchange, stage: AuditStage): Record<string, unknown> {
  const { id, request, caller, subject, route, cluster, traceId } = exchange;
  const action = route === undefined ? undefined : actionOf(route);
  const forbidding = exchange.error?.data['rule'];
  return {
    time: new Date().toISOString(),
    stage,
    id,
    authentication: caller?.method ?? '',
    user: caller?.user ?? '',
    ...(caller !== undefined && whoElse(caller)),
    ...(subject !== undefined && subject !== caller && { as: { user: subject.user, ...whoElse(subject) } }),
    rule: exchange.rule ?? (typeof forbidding === 'string' ? forbidding : ''),
    cluster: cluster?.name ?? route?.clusterName ?? '',
    method: request?.method ?? '',
    verb: action?.verb ?? '',
    ...(action?.isResource === true && resourceFields(action)),
    path: route?.target.path ?? '',
    ...(traceId !== undefined && { traceId }),
  };
}

/** What a request has come to, for its last line. */
export function auditOutcome(exchange: Exchange, code: number, durationMs: number): Record<string, unknown> {
  return {
    code,
    bytesIn: exchange.bytesIn,
    bytesOut: exchange.reply.bytesOut,
    durationMs: Math.round(durationMs * 10) / 10,
    ...(exchange.upstreamAuditId !== undefined && { upstreamAuditId: exchange.upstreamAuditId }),
    ...(exchange.error !== undefined && { error: exchange.error.code }),
  };
}

function whoElse({ uid, groups, extra }: Caller): Record<string, unknown> {
  return {
    ...(uid !== undefined && { uid }),
    groups,
    ...(extra !== undefined && extra.size > 0 && { extra: Object.fromEntries(extra) }),
  };
}
