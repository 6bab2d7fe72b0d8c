/** `Impersonate-*` headers: the caller that the request goes on as (k8s.io/apiserver/pkg/endpoints/filters/impersonation). */
import type { RecordedRequest } from '../recorded-request.ts';
import { ApiError } from './api-error.ts';
import { anonymousCaller, authenticatedGroup } from './authentication.ts';
import type { Caller } from './authentication.ts';
import { requireAccess } from './authorization/authorizer.ts';
import type { Authorizer, ResourceAccess } from './authorization/authorizer.ts';

const extraPrefix = 'impersonate-extra-';

/** Throws Forbidden when the caller may not, and 500 (as the real server does) for parts of an identity without a user. */
export function impersonate(request: RecordedRequest, caller: Caller, authorizer: Authorizer): Caller {
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
  const may = (what: Pick<ResourceAccess, 'resource' | 'name'> & Partial<ResourceAccess>): void =>
    requireAccess(authorizer, { ...impersonation, caller, ...what });
  const account = serviceAccountOf(username);
  may(
    account === undefined
      ? { resource: 'users', name: username }
      : { resource: 'serviceaccounts', ...account },
  );
  for (const name of groups) may({ resource: 'groups', name });
  for (const [subresource, values] of Object.entries(extra))
    for (const name of values) may({ ...ofAuthentication, resource: 'userextras', subresource, name });
  if (uid !== '') may({ ...ofAuthentication, resource: 'uids', name: uid });
  return { username, uid, groups: completeGroups(username, groups), extra };
}

const impersonation = { verb: 'impersonate', group: '', version: 'v1', subresource: '', namespace: '' };
const ofAuthentication = { group: 'authentication.k8s.io' };

function serviceAccountOf(username: string): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

/** Nobody can be impersonated out of the group of those who are, or are not, authenticated. */
function completeGroups(username: string, groups: readonly string[]): readonly string[] {
  const unauthenticated = anonymousCaller.groups;
  if (username === anonymousCaller.username)
    return [...groups, ...unauthenticated.filter((group) => !groups.includes(group))];
  const account = serviceAccountOf(username);
  const given =
    groups.length > 0 || account === undefined
      ? groups
      : ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
  return given.some((group) => group === authenticatedGroup || unauthenticated.includes(group))
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
