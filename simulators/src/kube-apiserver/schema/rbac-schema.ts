/** Roles, which say what may be done, and bindings, which say by whom. */
import { kindSchema, labelSelector } from './meta-schema.ts';
import { atomic, field, inline, list, struct, text, texts } from './schema.ts';
import type { Schema } from './schema.ts';

const rbac = 'io.k8s.api.rbac.v1';

const policyRule = struct(`${rbac}.PolicyRule`, 'What may be done with what.', ['verbs'], {
  verbs: texts('What may be done; * is everything.'),
  apiGroups: texts('The groups of the resources; "" is the core group, * is all.'),
  resources: texts(
    'The resources, with their subresources as in pods/log; */scale is that of all, * is everything.',
  ),
  resourceNames: texts('The names of the objects. Without any: all.'),
  nonResourceURLs: texts('Paths that are no resources; a * at the end stands for whatever follows.'),
});

const subject = struct(`${rbac}.Subject`, 'Somebody to whom a role is given.', ['kind', 'name'], {
  kind: text('User, Group or ServiceAccount.', { default: '' }),
  apiGroup: text('The group of the kind; empty for service accounts.'),
  name: text('The name.', { default: '' }),
  namespace: text('The namespace of a service account.'),
});

const roleRef = atomic(
  struct(`${rbac}.RoleRef`, 'The role that is given.', ['apiGroup', 'kind', 'name'], {
    apiGroup: text('The group of the kind.', { default: '' }),
    kind: text('Role or ClusterRole.', { default: '' }),
    name: text('The name.', { default: '' }),
  }),
);

const aggregationRule = struct(`${rbac}.AggregationRule`, 'Where the rules of a role come from.', [], {
  clusterRoleSelectors: list(labelSelector, 'The cluster roles whose rules it has, by their labels.'),
});

const rules = list(policyRule, 'What may be done.');

const binding = {
  subjects: list(subject, 'To whom the role is given.'),
  roleRef: inline(roleRef, 'The role that is given; it cannot be changed.'),
};

export const roleSchema: Schema = kindSchema(`${rbac}.Role`, 'What may be done in a namespace.', { rules });

export const clusterRoleSchema: Schema = kindSchema(
  `${rbac}.ClusterRole`,
  'What may be done in the whole cluster, or in a namespace in which it is given.',
  {
    rules,
    aggregationRule: field(aggregationRule, 'Where the rules come from; a controller fills them in.'),
  },
);

export const roleBindingSchema: Schema = kindSchema(
  `${rbac}.RoleBinding`,
  'Gives a role to somebody in a namespace.',
  binding,
  ['roleRef'],
);

export const clusterRoleBindingSchema: Schema = kindSchema(
  `${rbac}.ClusterRoleBinding`,
  'Gives a cluster role to somebody in the whole cluster.',
  binding,
  ['roleRef'],
);
