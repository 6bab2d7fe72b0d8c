/** Who has a role: in a namespace, or in the whole cluster. */
import type { StatusCause } from '../api-error.ts';
import { at, equalJson, isJsonObject, listAt, objectAt, textAt } from '../json.ts';
import type { Json } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { clusterRoleBindingSchema, roleBindingSchema } from '../schema/rbac-schema.ts';
import { ageColumn, text, wide } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { Column, ResourceDefinition } from './resource-definition.ts';
import { rbacGroup } from './roles.ts';
import { invalidField, pathNameProblem, requiredField, unsupportedField } from './validation.ts';

const columns: readonly Column[] = [
  text('Role', (binding) => `${textAt(binding, 'roleRef', 'kind')}/${textAt(binding, 'roleRef', 'name')}`),
  ageColumn,
  wide(text('Users', (binding) => subjectNames(binding, 'User'))),
  wide(text('Groups', (binding) => subjectNames(binding, 'Group'))),
  wide(text('ServiceAccounts', (binding) => subjectNames(binding, 'ServiceAccount'))),
];

function subjectNames(binding: KubeObject, kind: string): string {
  return listAt(binding, 'subjects')
    .filter((subject) => textAt(subject, 'kind') === kind)
    .map((subject) => {
      const name = textAt(subject, 'name');
      return kind === 'ServiceAccount' ? `${textAt(subject, 'namespace')}/${name}` : name;
    })
    .join(', ');
}

export const roleBindings: ResourceDefinition = defineResource({
  group: rbacGroup,
  resource: 'rolebindings',
  singular: 'rolebinding',
  kind: 'RoleBinding',
  namespaced: true,
  pathNames: true,
  schema: roleBindingSchema,
  columns,
  default: withGroups,
  validate: (binding, previous) => validateBinding(binding, previous, true),
});

export const clusterRoleBindings: ResourceDefinition = defineResource({
  group: rbacGroup,
  resource: 'clusterrolebindings',
  singular: 'clusterrolebinding',
  kind: 'ClusterRoleBinding',
  namespaced: false,
  pathNames: true,
  schema: clusterRoleBindingSchema,
  columns,
  default: withGroups,
  validate: (binding, previous) => validateBinding(binding, previous, false),
});

/** The API group of the role, and of users and groups, goes without saying. */
function withGroups(binding: KubeObject): KubeObject {
  const subjects = listAt(binding, 'subjects').map((subject) =>
    isJsonObject(subject) &&
    ['User', 'Group'].includes(textAt(subject, 'kind')) &&
    textAt(subject, 'apiGroup') === ''
      ? { ...subject, apiGroup: rbacGroup }
      : subject,
  );
  const roleRef = objectAt(binding, 'roleRef');
  return {
    ...binding,
    roleRef: textAt(roleRef, 'apiGroup') === '' ? { ...roleRef, apiGroup: rbacGroup } : roleRef,
    ...(at(binding, 'subjects') === undefined ? {} : { subjects }),
  };
}

function validateBinding(
  binding: KubeObject,
  previous: KubeObject | undefined,
  namespaced: boolean,
): readonly StatusCause[] {
  const roleRef = objectAt(binding, 'roleRef');
  const changed = previous !== undefined && !equalJson(roleRef, previous['roleRef']);
  return [
    ...validateRoleRef(roleRef, namespaced ? ['Role', 'ClusterRole'] : ['ClusterRole']),
    ...listAt(binding, 'subjects').flatMap((subject, index) =>
      validateSubject(subject, `subjects[${index}]`, namespaced),
    ),
    ...(changed ? [invalidField('roleRef', roleRef, 'cannot change roleRef')] : []),
  ];
}

function validateRoleRef(roleRef: Json, kinds: readonly string[]): readonly StatusCause[] {
  const [group, kind, name] = [textAt(roleRef, 'apiGroup'), textAt(roleRef, 'kind'), textAt(roleRef, 'name')];
  const problem = pathNameProblem(name);
  const causes: StatusCause[] = [];
  if (group !== rbacGroup) causes.push(unsupportedField('roleRef.apiGroup', group, [rbacGroup]));
  if (!kinds.includes(kind)) causes.push(unsupportedField('roleRef.kind', kind, kinds));
  if (name === '') causes.push(requiredField('roleRef.name'));
  else if (problem !== undefined) causes.push(invalidField('roleRef.name', name, problem));
  return causes;
}

function validateSubject(subject: Json, field: string, namespaced: boolean): readonly StatusCause[] {
  const [group, kind, name] = [textAt(subject, 'apiGroup'), textAt(subject, 'kind'), textAt(subject, 'name')];
  const causes: StatusCause[] = [];
  if (name === '') causes.push(requiredField(`${field}.name`));
  switch (kind) {
    case 'ServiceAccount':
      if (group !== '') causes.push(unsupportedField(`${field}.apiGroup`, group, ['']));
      if (!namespaced && textAt(subject, 'namespace') === '')
        causes.push(requiredField(`${field}.namespace`));
      break;
    case 'User':
    case 'Group':
      if (name === '')
        causes.push(invalidField(`${field}.name`, name, `${kind.toLowerCase()} name cannot be empty`));
      if (group !== rbacGroup) causes.push(unsupportedField(`${field}.apiGroup`, group, [rbacGroup]));
      break;
    default:
      causes.push(unsupportedField(`${field}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
  }
  return causes;
}
