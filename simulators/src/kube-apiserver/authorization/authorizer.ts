/** What is asked of an authorizer, and what it says; the rooms that ask know nothing of roles (k8s.io/apiserver/pkg/authorization). */
import { ApiError } from '../api-error.ts';
import type { Caller } from '../authentication.ts';
import type { PolicyRule } from './policy-rule.ts';

export interface ResourceAccess {
  readonly caller: Caller;
  /** Any word: roles may speak of verbs that no request has, like `impersonate`. */
  readonly verb: string;
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

export interface Decision {
  readonly allowed: boolean;
  /** May be empty. */
  readonly reason: string;
}

export interface RuleList {
  readonly rules: readonly PolicyRule[];
  /** Why there may be more; empty when there are no more. */
  readonly error: string;
}

export interface Authorizer {
  decide(access: Access): Decision;
  /** What the caller may do in the namespace, and in none if it is empty. */
  rulesFor(caller: Caller, namespace: string): RuleList;
}

/** Throws Forbidden with the words of the real server. */
export function requireAccess(authorizer: Authorizer, access: Access): void {
  const { allowed, reason } = authorizer.decide(access);
  if (allowed) return;
  const { username } = access.caller;
  const because = reason === '' ? '' : `: ${reason}`;
  if ('path' in access)
    throw ApiError.forbidden(
      `User ${JSON.stringify(username)} cannot ${access.verb} path ${JSON.stringify(access.path)}${because}`,
    );
  const { verb, group, resource, subresource, namespace, name } = access;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  throw ApiError.forbidden(
    `User ${JSON.stringify(username)} cannot ${verb} resource ${JSON.stringify(full)} in API group ${JSON.stringify(group)} ${where}${because}`,
    { group, resource },
    name,
  );
}
