/** Why sessions end, in few words: for metrics, whose labels must be few. Logs have the error itself. */

import type { RoundhouseError } from '@roundhouse/transport';

/**
 * - `ended`: both sides ended in good order.
 * - `client`, `cluster`: that side broke it off.
 * - `stalled`: one side took nothing, or said nothing, for too long.
 * - `killed`: by an operator.
 * - `revoked`: its caller is not known any more, or may not do this any more.
 * - `drained`: the cluster's address or credentials changed, and the time for that was over.
 * - `removed`: the cluster is served no longer.
 * - `shutdown`: the gateway's own end.
 * - `failed`: anything else.
 */
export type SessionEnd =
  | 'ended'
  | 'client'
  | 'cluster'
  | 'stalled'
  | 'killed'
  | 'revoked'
  | 'drained'
  | 'removed'
  | 'shutdown'
  | 'failed';

export function sessionEndOf(error: RoundhouseError | undefined): SessionEnd {
  return error === undefined ? 'ended' : (ends.get(error.code) ?? 'failed');
}

const ends: ReadonlyMap<string, SessionEnd> = new Map([
  ['ERR_RH_CLIENT_GONE', 'client'],
  ['ERR_RH_SESSION_BROKEN', 'cluster'],
  ['ERR_RH_CONNECTION_LOST', 'cluster'],
  ['ERR_RH_SESSION_STALLED', 'stalled'],
  ['ERR_RH_SESSION_KILLED', 'killed'],
  ['ERR_RH_SESSION_REVOKED', 'revoked'],
  ['ERR_RH_DRAINED', 'drained'],
  ['ERR_RH_IDENTITY_CLOSED', 'removed'],
  ['ERR_RH_SHUTTING_DOWN', 'shutdown'],
  ['ERR_RH_POOL_CLOSED', 'shutdown'],
]);
