/** What may be done: in a namespace, or in the whole cluster. */
import type { StatusCause } from '../api-error.ts';
import { listAt } from '../json.ts';
import type { Json } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { clusterRoleSchema, roleSchema } from '../schema/rbac-schema.ts';
import { text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { invalidField, requiredField } from './validation.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

const createdAt = text('Created At', ({ metadata }) => metadata.creationTimestamp ?? '');

export const roles: ResourceDefinition = defineResource({
  group: rbacGroup,
  resource: 'roles',
  singular: 'role',
  kind: 'Role',
  namespaced: true,
  pathNames: true,
  schema: roleSchema,
  columns: [createdAt],
  validate: (role) => validateRules(role, true),
});

export const clusterRoles: ResourceDefinition = defineResource({
  group: rbacGroup,
  resource: 'clusterroles',
  singular: 'clusterrole',
  kind: 'ClusterRole',
  namespaced: false,
  pathNames: true,
  schema: clusterRoleSchema,
  columns: [createdAt],
  validate: (role) => validateRules(role, false),
});

function validateRules(role: KubeObject, namespaced: boolean): readonly StatusCause[] {
  return listAt(role, 'rules').flatMap((rule, index) => validateRule(rule, `rules[${index}]`, namespaced));
}

function validateRule(rule: Json, field: string, namespaced: boolean): readonly StatusCause[] {
  const [verbs, urls, groups, resources, names] = [
    'verbs',
    'nonResourceURLs',
    'apiGroups',
    'resources',
    'resourceNames',
  ].map((each) => listAt(rule, each));
  const causes: StatusCause[] = [];
  const isEmpty = (list: readonly Json[] | undefined): boolean => (list ?? []).length === 0;
  if (isEmpty(verbs)) causes.push(requiredField(`${field}.verbs`, 'verbs must contain at least one value'));
  if (urls !== undefined && !isEmpty(urls)) {
    const urlField = `${field}.nonResourceURLs`;
    if (namespaced)
      causes.push(invalidField(urlField, urls, 'namespaced rules cannot apply to non-resource URLs'));
    if (!isEmpty(groups) || !isEmpty(resources) || !isEmpty(names)) {
      const why = 'rules cannot apply to both regular resources and non-resource URLs';
      causes.push(invalidField(urlField, urls, why));
    }
    return causes;
  }
  if (isEmpty(groups))
    causes.push(requiredField(`${field}.apiGroups`, 'resource rules must supply at least one api group'));
  if (isEmpty(resources))
    causes.push(requiredField(`${field}.resources`, 'resource rules must supply at least one resource'));
  return causes;
}
