/** Whether a caller may do what it asks. The rule itself is given to the server; the default lets in everybody who is known. */
import { ApiError } from './api-error.ts';
import { authenticatedGroup } from './authentication.ts';
import type { Caller } from './authentication.ts';
import type { Verb } from './resources/resource-definition.ts';

export interface ResourceAccess {
  readonly caller: Caller;
  readonly verb: Verb | 'impersonate';
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: cluster-scoped, or all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

export interface PathAccess {
  readonly caller: Caller;
  /** Lower case method. */
  readonly verb: string;
  readonly path: string;
}

export type Access = ResourceAccess | PathAccess;

/** Allowed, or a reason for the message (may be empty). */
export type Authorizer = (access: Access) => true | string;

const publicPaths = /^\/(healthz|livez|readyz|version)(\/|$)/;

export const allowAuthenticated: Authorizer = (access) => {
  if (access.caller.groups.includes(authenticatedGroup)) return true;
  return 'path' in access && access.verb === 'get' && publicPaths.test(access.path) ? true : '';
};

/** Throws Forbidden with the words of the real server. */
export function requireAccess(authorize: Authorizer, access: Access): void {
  const verdict = authorize(access);
  if (verdict === true) return;
  const because = verdict === '' ? '' : `: ${verdict}`;
  if ('path' in access)
    throw ApiError.forbidden(access.caller.username, `${access.verb} path "${access.path}"${because}`);
  const { group, resource, subresource, namespace, name } = access;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  throw ApiError.forbidden(
    access.caller.username,
    `${access.verb} resource "${full}" in API group "${group}" ${where}${because}`,
    { group, resource },
    name,
  );
}
