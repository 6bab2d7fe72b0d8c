/**
 * Nobody gives away by a role or a binding what they do not have themselves, unless they may `escalate` the role or `bind` it
 * (kubernetes/pkg/registry/rbac, policybased storage).
 */
import { ApiError } from '../api-error.ts';
import type { Caller } from '../authentication.ts';
import type { ClusterState } from '../cluster-state.ts';
import { at, equalJson, textAt } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import { clusterRoleBindings, roleBindings } from '../resources/role-bindings.ts';
import { clusterRoles, roles } from '../resources/roles.ts';
import { notCovered, rulesOf } from './policy-rule.ts';
import type { PolicyRule } from './policy-rule.ts';
import { mastersGroup } from './rbac-authorizer.ts';

/** Throws Forbidden for a write that would give somebody more than the caller has. `previous` on update. */
export type WriteGuard = (next: KubeObject, previous: KubeObject | undefined) => void;

/** Undefined for resources that give nobody anything. */
export function escalationGuard(
  cluster: ClusterState,
  definition: ResourceDefinition,
  caller: Caller,
): WriteGuard | undefined {
  const check = checks.get(definition);
  if (check === undefined || caller.groups.includes(mastersGroup)) return undefined;
  return (next, previous) => {
    if (previous === undefined || !isHousekeeping(next, previous))
      check({ cluster, definition, caller, next, previous });
  };
}

interface Write {
  readonly cluster: ClusterState;
  readonly definition: ResourceDefinition;
  readonly caller: Caller;
  readonly next: KubeObject;
  readonly previous: KubeObject | undefined;
}

const checks: ReadonlyMap<ResourceDefinition, (write: Write) => void> = new Map([
  [roles, checkRole],
  [clusterRoles, checkRole],
  [roleBindings, checkBinding],
  [clusterRoleBindings, checkBinding],
]);

/** Garbage collection has to come to its end, whoever does it. */
function isHousekeeping(next: KubeObject, previous: KubeObject): boolean {
  const { finalizers, ownerReferences, managedFields } = previous.metadata;
  const kept = { finalizers, ownerReferences, managedFields };
  return equalJson({ ...next, metadata: { ...next.metadata, ...kept } }, previous);
}

function checkRole(write: Write): void {
  const { definition, next, previous } = write;
  // A new object has no name yet when its request is authorised.
  if (may(write, 'escalate', definition, previous === undefined ? '' : nameOf(next))) return;
  const collects = [next, previous].some((role) => at(role, 'aggregationRule') !== undefined);
  if (collects && missing(write, everything).length > 0)
    throw ApiError.forbidden(
      'must have cluster-admin privileges to use the aggregationRule',
      definition,
      nameOf(next),
    );
  requireHeld(write, rulesOf(next));
}

/** Throws NotFound too: who may not bind any role of that name has to name one that is there. */
function checkBinding(write: Write): void {
  const { cluster, next } = write;
  const kind = roleKindOf(next);
  const name = textAt(next, 'roleRef', 'name');
  if (may(write, 'bind', kind, name)) return;
  const role = cluster.objects.find(kind, kind.namespaced ? namespaceOf(next) : '', name);
  if (role === undefined) throw ApiError.notFound({ group: kind.group, resource: kind.singular }, name);
  requireHeld(write, rulesOf(role));
}

function roleKindOf(binding: KubeObject): ResourceDefinition {
  return textAt(binding, 'roleRef', 'kind') === 'Role' ? roles : clusterRoles;
}

function may(
  { cluster, caller, next }: Write,
  verb: string,
  { group, version, resource }: ResourceDefinition,
  name: string,
): boolean {
  const namespace = namespaceOf(next);
  const access = { caller, verb, group, version, resource, subresource: '', namespace, name };
  return cluster.authorizer.decide(access).allowed;
}

function missing({ cluster, caller, next }: Write, rules: readonly PolicyRule[]): readonly PolicyRule[] {
  return notCovered(cluster.authorizer.rulesFor(caller, namespaceOf(next)).rules, rules);
}

function requireHeld(write: Write, rules: readonly PolicyRule[]): void {
  const lacking = missing(write, rules);
  if (lacking.length === 0) return;
  const { username, groups } = write.caller;
  throw ApiError.forbidden(
    `user ${JSON.stringify(username)} (groups=${goList(groups)}) is attempting to grant RBAC permissions not currently held:\n${describe(lacking)}`,
    write.definition,
    nameOf(write.next),
  );
}

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** A line for each resource, with all verbs, in order. */
function describe(rules: readonly PolicyRule[]): string {
  const byResource = Map.groupBy(rules, (rule) => JSON.stringify({ ...rule, verbs: [] }));
  const lines = [...byResource.values()].map((same) => {
    const [first] = same;
    const parts = Object.entries({
      APIGroups: first?.apiGroups,
      Resources: first?.resources,
      NonResourceURLs: first?.nonResourceURLs,
      ResourceNames: first?.resourceNames,
      Verbs: same.flatMap(({ verbs }) => verbs),
    }).flatMap(([name, texts]) => (texts === undefined ? [] : [`${name}:${goList(texts)}`]));
    return `{${parts.join(', ')}}`;
  });
  return lines.toSorted().join('\n');
}

/** As Go quotes a list of strings. */
function goList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
}
