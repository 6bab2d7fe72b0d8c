// Who may come in at the gateway, and what for. The gateway decides who reaches which cluster, each cluster what they may do there.

import { randomBytes } from 'node:crypto';
import type { KubeApiserverOptions } from '@roundhouse/simulators';
import type { ClusterName } from './workloads.ts';

type Manifest = NonNullable<KubeApiserverOptions['seed']>[number];

export interface Person {
  readonly name: string;
  readonly group: string;
  readonly token: string;
}

/** As whom the gateway itself comes to the clusters. */
export const gatewayUser = 'roundhouse-gateway';

const admins = 'admins';
const developers = 'developers';

/** With tokens that are theirs for this run. */
export function invitePeople(): { readonly admin: Person; readonly dev: Person } {
  const token = (): string => randomBytes(24).toString('base64url');
  return {
    admin: { name: 'admin', group: admins, token: token() },
    dev: { name: 'dev', group: developers, token: token() },
  };
}

/** For the gateway: who has which token. */
export function tokenFile(people: readonly Person[]): string {
  return people.map(({ name, group, token }) => `${token},${name},,"${group}"\n`).join('');
}

/** For the gateway: who reaches which cluster. */
export const authorizationFile = `version: 1
rules:
  - name: admins-go-everywhere
    groups: [${admins}]
    clusters: ['*']
    verbs: ['*']
    apiGroups: ['*']
    resources: ['*']
    namespaces: ['*']
  - name: developers-go-to-alpha        # what they may do there, alpha decides
    groups: [${developers}]
    clusters: [alpha]
    verbs: [get, list, watch, create, update, patch, delete, deletecollection]   # and not impersonate
    apiGroups: ['*']
    resources: ['*']
    namespaces: ['*']
  - name: everybody-looks-around        # what there is: kubectl asks that first
    groups: ['*']
    clusters: ['*']
    verbs: [get]
    nonResourceURLs: ['*']
`;

/** For a cluster: what everybody may do there. The gateway may act as these people, and do nothing by itself. */
export function rolesFor(cluster: ClusterName): readonly Manifest[] {
  return [
    {
      ...rbac('ClusterRole', gatewayUser),
      rules: [
        { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
        {
          apiGroups: [''],
          resources: ['groups'],
          resourceNames: [admins, developers],
          verbs: ['impersonate'],
        },
      ],
    },
    {
      ...rbac('ClusterRoleBinding', gatewayUser),
      roleRef: clusterRole(gatewayUser),
      subjects: [{ kind: 'User', name: gatewayUser }],
    },
    {
      ...rbac('ClusterRoleBinding', admins),
      roleRef: clusterRole('cluster-admin'),
      subjects: [{ kind: 'Group', name: admins }],
    },
    ...(cluster === 'alpha'
      ? [
          {
            ...rbac('RoleBinding', developers, 'yard'),
            roleRef: clusterRole('edit'),
            subjects: [{ kind: 'Group', name: developers }],
          },
        ]
      : []),
  ];
}

function rbac(kind: string, name: string, namespace?: string) {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  };
}

function clusterRole(name: string) {
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
}
