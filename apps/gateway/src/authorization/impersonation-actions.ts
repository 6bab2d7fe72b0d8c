/** What acting as somebody takes: one right a user, uid, group and value of an extra, as the kube-apiserver asks for them. */

import type { ImpersonationWish } from '../identity/impersonation-wish.ts';
import { noAction } from './action.ts';
import type { Action } from './action.ts';

const serviceAccount = /^system:serviceaccount:([^:]+):([^:]+)$/;
const authenticationGroup = 'authentication.k8s.io';

export function impersonationActions({ user, uid, groups, extra }: ImpersonationWish): Action[] {
  const [, namespace, account] = serviceAccount.exec(user) ?? [];
  const whom =
    namespace !== undefined && account !== undefined
      ? { resource: 'serviceaccounts', namespace, name: account }
      : { resource: 'users', name: user };
  return [
    whom,
    ...(uid === undefined ? [] : [{ group: authenticationGroup, resource: 'uids', name: uid }]),
    ...groups.map((name) => ({ resource: 'groups', name })),
    ...[...extra].flatMap(([key, values]) =>
      values.map((name) => ({ group: authenticationGroup, resource: 'userextras', subresource: key, name })),
    ),
  ].map((action) => ({ ...noAction, isResource: true, verb: 'impersonate', ...action }));
}
