/** Questions that are answered and not stored: what may I, or somebody else, do? */
import { kindSchema } from './meta-schema.ts';
import { userExtra } from './review-schema.ts';
import { bool, field, inline, list, struct, text, texts } from './schema.ts';
import type { Schema } from './schema.ts';

const authorization = 'io.k8s.api.authorization.v1';

const requirement = (kind: string): Schema =>
  struct(`io.k8s.apimachinery.pkg.apis.meta.v1.${kind}Requirement`, 'A condition.', ['key', 'operator'], {
    key: text('What it is about.', { default: '' }),
    operator: text('The relation.', { default: '' }),
    values: texts('The values.'),
  });

const selector = (kind: 'FieldSelector' | 'LabelSelector'): Schema =>
  struct(`${authorization}.${kind}Attributes`, 'What a request selects.', [], {
    rawSelector: text('As in a query.'),
    requirements: list(requirement(kind), 'Conditions, of which all have to hold.'),
  });

const attributes = {
  resourceAttributes: struct(`${authorization}.ResourceAttributes`, 'An access to resources.', [], {
    namespace: text('Empty: all, or none for what is in no namespace.'),
    verb: text('What is to be done.'),
    group: text('The group of the resource; empty for the core group.'),
    version: text('The version of the resource.'),
    resource: text('The resource, in the plural.'),
    subresource: text('The subresource.'),
    name: text('The name of one object.'),
    fieldSelector: field(selector('FieldSelector'), 'What is selected by fields; no role limits it.'),
    labelSelector: field(selector('LabelSelector'), 'What is selected by labels; no role limits it.'),
  }),
  nonResourceAttributes: struct(
    `${authorization}.NonResourceAttributes`,
    'An access to a path that is no resource.',
    [],
    { path: text('The path.'), verb: text('What is to be done.') },
  ),
};

const subjectSpec = struct(`${authorization}.SubjectAccessReviewSpec`, 'The question.', [], {
  ...attributes,
  user: text('Who it is about.'),
  groups: texts('The groups of that one; none is added.'),
  uid: text('The UID of that one.'),
  extra: userExtra,
});

const status = inline(
  struct(`${authorization}.SubjectAccessReviewStatus`, 'The answer.', ['allowed'], {
    allowed: bool('Whether it is allowed.'),
    denied: bool('Whether it is forbidden, whatever else is allowed.'),
    reason: text('Why.'),
    evaluationError: text('What went wrong on the way to the answer.'),
  }),
  'The answer.',
);

export const selfSubjectAccessReviewSchema: Schema = kindSchema(
  `${authorization}.SelfSubjectAccessReview`,
  'Whether the caller may do something.',
  {
    spec: inline(
      struct(`${authorization}.SelfSubjectAccessReviewSpec`, 'The question.', [], attributes),
      'The question.',
    ),
    status,
  },
  ['spec'],
);

export const subjectAccessReviewSchema: Schema = kindSchema(
  `${authorization}.SubjectAccessReview`,
  'Whether somebody may do something.',
  { spec: inline(subjectSpec, 'The question.'), status },
  ['spec'],
);

export const localSubjectAccessReviewSchema: Schema = kindSchema(
  `${authorization}.LocalSubjectAccessReview`,
  'Whether somebody may do something in a namespace.',
  { spec: inline(subjectSpec, 'The question.'), status },
  ['spec'],
);

export const selfSubjectRulesReviewSchema: Schema = kindSchema(
  `${authorization}.SelfSubjectRulesReview`,
  'Everything that the caller may do in a namespace.',
  {
    spec: inline(
      struct(`${authorization}.SelfSubjectRulesReviewSpec`, 'The question.', [], {
        namespace: text('The namespace.'),
      }),
      'The question.',
    ),
    status: inline(
      struct(
        `${authorization}.SubjectRulesReviewStatus`,
        'The answer.',
        ['resourceRules', 'nonResourceRules', 'incomplete'],
        {
          resourceRules: list(
            struct(`${authorization}.ResourceRule`, 'What may be done with resources.', ['verbs'], {
              verbs: texts('What may be done; * is everything.'),
              apiGroups: texts('The groups; * is all.'),
              resources: texts('The resources; * is all.'),
              resourceNames: texts('The names. Without any: all.'),
            }),
            'What may be done with resources.',
          ),
          nonResourceRules: list(
            struct(`${authorization}.NonResourceRule`, 'What may be done with paths.', ['verbs'], {
              verbs: texts('What may be done; * is everything.'),
              nonResourceURLs: texts('The paths.'),
            }),
            'What may be done with paths.',
          ),
          incomplete: bool('Whether there may be more.'),
          evaluationError: text('Why there may be more.'),
        },
      ),
      'The answer.',
    ),
  },
  ['spec'],
);
