/** `Impersonate-*` headers: the caller that the request goes on as (k8s.io/apiserver/pkg/endpoints/filters/impersonation). */
import type { RecordedRequest } from '../recorded-request.ts';
import { ApiError } from './api-error.ts';
import { anonymousCaller, authenticatedGroup } from './authentication.ts';
import type { Caller } from './authentication.ts';
import type { Authorizer } from './authorization.ts';
import { requireAccess } from './authorization.ts';

const extraPrefix = 'impersonate-extra-';

/** Throws Forbidden when the caller may not, and 500 (as the real server does) for parts of an identity without a user. */
export function impersonate(request: RecordedRequest, caller: Caller, authorize: Authorizer): Caller {
  const [username = ''] = request.headerValues('impersonate-user');
  const groups = request.headerValues('impersonate-group');
  const [uid = ''] = request.headerValues('impersonate-uid');
  const extra = extraOf(request);
  if (username === '') {
    if (groups.length === 0 && uid === '' && Object.keys(extra).length === 0) return caller;
    throw ApiError.internal(
      `requested ${JSON.stringify([...groups, uid, extra])} without impersonating a user`,
    );
  }
  const may = (resource: string, name: string, group = '', subresource = ''): void =>
    requireAccess(authorize, {
      caller,
      verb: 'impersonate',
      group,
      version: 'v1',
      resource,
      subresource,
      namespace: '',
      name,
    });
  may('users', username);
  for (const group of groups) may('groups', group);
  if (uid !== '') may('uids', uid, 'authentication.k8s.io');
  for (const [key, values] of Object.entries(extra))
    for (const value of values) may('userextras', value, 'authentication.k8s.io', key);
  return { username, uid, groups: completeGroups(username, groups), extra };
}

function completeGroups(username: string, groups: readonly string[]): readonly string[] {
  if (username === anonymousCaller.username) return groups.length === 0 ? anonymousCaller.groups : groups;
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(username) ?? [];
  const given =
    groups.length > 0 || namespace === undefined
      ? groups
      : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  return given.includes(authenticatedGroup) || given.includes('system:unauthenticated')
    ? given
    : [...given, authenticatedGroup];
}

function extraOf(request: RecordedRequest): Readonly<Record<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const header = request.rawHeaders[index]?.toLowerCase() ?? '';
    if (!header.startsWith(extraPrefix)) continue;
    const key = unescapeKey(header.slice(extraPrefix.length));
    found.set(key, [...(found.get(key) ?? []), request.rawHeaders[index + 1] ?? '']);
  }
  return Object.fromEntries(found);
}

/** Keys are percent-encoded, so that they fit a header name; what does not decode is taken as it is. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
