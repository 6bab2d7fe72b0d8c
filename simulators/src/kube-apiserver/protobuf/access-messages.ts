/** Roles, bindings and reviews: the generated.proto of k8s.io/api/rbac/v1, authorization/v1 and authentication/v1. */
import { labelSelector, objectMeta } from './meta-messages.ts';
import { list, map, message, one, text } from './message-schema.ts';
import type { Field, MessageSchema } from './message-schema.ts';

const policyRule = message('PolicyRule', {
  1: list('verbs'),
  2: list('apiGroups'),
  3: list('resources'),
  4: list('resourceNames'),
  5: list('nonResourceURLs'),
});

const subject = message('Subject', {
  1: text('kind'),
  2: text('apiGroup'),
  3: text('name'),
  4: text('namespace'),
});
const roleRef = message('RoleRef', { 1: text('apiGroup'), 2: text('kind'), 3: text('name') });

const binding = {
  1: one('metadata', objectMeta),
  2: list('subjects', subject),
  3: one('roleRef', roleRef),
};

const aggregationRule = message('AggregationRule', { 1: list('clusterRoleSelectors', labelSelector) });

const attributes = {
  1: one(
    'resourceAttributes',
    message('ResourceAttributes', {
      1: text('namespace'),
      2: text('verb'),
      3: text('group'),
      4: text('version'),
      5: text('resource'),
      6: text('subresource'),
      7: text('name'),
      8: one('fieldSelector', 'unread'),
      9: one('labelSelector', 'unread'),
    }),
  ),
  2: one('nonResourceAttributes', message('NonResourceAttributes', { 1: text('path'), 2: text('verb') })),
};

const subjectSpec = message('SubjectAccessReviewSpec', {
  ...attributes,
  3: text('user'),
  4: list('groups'),
  5: map('extra', 'texts'),
  6: text('uid'),
});

function review(name: string, spec: MessageSchema | undefined): MessageSchema {
  const status: Field = one('status', 'unread');
  return message(
    name,
    spec === undefined
      ? { 1: one('metadata', objectMeta), 2: status }
      : { 1: one('metadata', objectMeta), 2: one('spec', spec), 3: status },
  );
}

export const accessMessages: Readonly<Record<string, MessageSchema>> = {
  'rbac.authorization.k8s.io/v1/Role': message('Role', {
    1: one('metadata', objectMeta),
    2: list('rules', policyRule),
  }),
  'rbac.authorization.k8s.io/v1/ClusterRole': message('ClusterRole', {
    1: one('metadata', objectMeta),
    2: list('rules', policyRule),
    3: one('aggregationRule', aggregationRule),
  }),
  'rbac.authorization.k8s.io/v1/RoleBinding': message('RoleBinding', binding),
  'rbac.authorization.k8s.io/v1/ClusterRoleBinding': message('ClusterRoleBinding', binding),
  'authorization.k8s.io/v1/SelfSubjectAccessReview': review(
    'SelfSubjectAccessReview',
    message('SelfSubjectAccessReviewSpec', attributes),
  ),
  'authorization.k8s.io/v1/SubjectAccessReview': review('SubjectAccessReview', subjectSpec),
  'authorization.k8s.io/v1/LocalSubjectAccessReview': review('LocalSubjectAccessReview', subjectSpec),
  'authorization.k8s.io/v1/SelfSubjectRulesReview': review(
    'SelfSubjectRulesReview',
    message('SelfSubjectRulesReviewSpec', { 1: text('namespace') }),
  ),
  'authentication.k8s.io/v1/SelfSubjectReview': review('SelfSubjectReview', undefined),
  'authentication.k8s.io/v1/TokenReview': review(
    'TokenReview',
    message('TokenReviewSpec', { 1: text('token'), 2: list('audiences') }),
  ),
};
