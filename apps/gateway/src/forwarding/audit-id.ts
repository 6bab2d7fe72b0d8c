import type { IncomingHttpHeaders } from 'node:http';

/** By which the cluster's own audit log knows the request. For a log of ours, so not whatever a cluster may write there. */
export function auditIdIn(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['audit-id'];
  return typeof value === 'string' && /^[\w.:-]{1,128}$/.test(value) ? value : undefined;
}
