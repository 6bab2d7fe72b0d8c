/** Rights for the cases, which they give and take away again. */
import assert from 'node:assert/strict';
import { objectAt, textAt } from '../kube-apiserver/json.ts';
import type { JsonObject } from '../kube-apiserver/json.ts';
import { call } from './target.ts';
import type { Target, User } from './target.ts';
import { until } from './until.ts';

const group = 'rbac.authorization.k8s.io';
const root = `/apis/${group}/v1`;

export const clusterRolesPath = `${root}/clusterroles`;
export const clusterRoleBindingsPath = `${root}/clusterrolebindings`;

export function rolesIn(namespace: string): string {
  return `${root}/namespaces/${namespace}/roles`;
}

export function roleBindingsIn(namespace: string): string {
  return `${root}/namespaces/${namespace}/rolebindings`;
}

export function role(name: string, rules: readonly JsonObject[]): JsonObject {
  return { apiVersion: `${group}/v1`, kind: 'Role', metadata: { name }, rules };
}

export function clusterRole(
  name: string,
  rules: readonly JsonObject[],
  labels: Readonly<Record<string, string>> = {},
): JsonObject {
  return { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name, labels }, rules };
}

export const subjects = {
  user: ({ username }: User): JsonObject => ({ apiGroup: group, kind: 'User', name: username }),
  group: (name: string): JsonObject => ({ apiGroup: group, kind: 'Group', name }),
  serviceAccount: (namespace: string, name: string): JsonObject => ({
    kind: 'ServiceAccount',
    namespace,
    name,
  }),
};

export function binding(
  kind: 'RoleBinding' | 'ClusterRoleBinding',
  name: string,
  roleRef: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string },
  to: readonly JsonObject[],
): JsonObject {
  return {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name },
    roleRef: { apiGroup: group, ...roleRef },
    subjects: to,
  };
}

/** A role with these rules, for the guest unless told otherwise, in the namespace that goes when the case ends. */
export async function grant(
  target: Target,
  namespace: string,
  rules: readonly JsonObject[],
  to: readonly JsonObject[] = [subjects.user(target.users.guest)],
): Promise<void> {
  const name = 'granted';
  await create(target, rolesIn(namespace), role(name, rules));
  await create(target, roleBindingsIn(namespace), binding('RoleBinding', name, { kind: 'Role', name }, to));
}

/** The same everywhere, while the case runs. Named after its namespace, which nobody else has. */
export async function withClusterGrant(
  target: Target,
  namespace: string,
  rules: readonly JsonObject[],
  run: () => Promise<void>,
): Promise<void> {
  const name = `conformance:${namespace}`;
  await create(target, clusterRolesPath, clusterRole(name, rules));
  try {
    const roleRef = { kind: 'ClusterRole', name } as const;
    const to = [subjects.user(target.users.guest)];
    await create(target, clusterRoleBindingsPath, binding('ClusterRoleBinding', name, roleRef, to));
    await run();
  } finally {
    await call(target, 'DELETE', `${clusterRoleBindingsPath}/${name}`);
    await call(target, 'DELETE', `${clusterRolesPath}/${name}`);
  }
}

export async function create(target: Target, path: string, body: JsonObject): Promise<JsonObject> {
  const answer = await call(target, 'POST', path, { body });
  assert.equal(answer.status, 201, textAt(answer.body, 'message'));
  return objectAt(answer.body);
}

/** What is granted counts once the server has heard of it; `GET` as the guest, until it is not 403. */
export async function untilAllowed(target: Target, path: string): Promise<void> {
  const as = target.users.guest;
  await until(async () => (await call(target, 'GET', path, { as })).status !== 403);
}
