/**
 * Upgraded sessions as the admin listener shows them, and the end of one. Fields are named as in the audit log; no query, which has
 * the command of an exec in it, and no token.
 */

import type { AdminRoute, Logger } from '@roundhouse/process';
import { resourceFields } from '../authorization/action.ts';
import { GatewayError } from '../errors.ts';
import type { OpenSessions } from '../sessions/open-sessions.ts';
import type { Session } from '../sessions/session.ts';
import { failure, json, schemaVersion } from './debug-answer.ts';

export function describeSession(session: Session): Record<string, unknown> {
  const { id, caller, subject, cluster, action, protocol } = session.facts;
  return {
    id,
    user: caller.user,
    ...(subject !== caller && { as: subject.user }),
    cluster,
    verb: action.verb,
    ...(action.isResource ? resourceFields(action) : { path: action.path }),
    protocol,
    startedAt: session.startedAt.toISOString(),
    bytesIn: session.bytesIn,
    bytesOut: session.bytesOut,
  };
}

/** Ends the session that `?id=` names, and answers with what it was. */
export function killSession(sessions: OpenSessions, log: Logger): AdminRoute {
  return ({ searchParams }) => {
    const id = searchParams.get('id') ?? '';
    const session = sessions.find(id);
    if (session === undefined) {
      const message = id === '' ? 'no session is named: say which with ?id=' : `no session ${id} is open`;
      return failure(new GatewayError('ERR_RH_SESSION_UNKNOWN', message));
    }
    const ended = describeSession(session);
    session.kill();
    const { user, cluster } = ended;
    log.info({ req: id, user, cluster }, 'session ended by an operator');
    return json({ schemaVersion, ended });
  };
}
