/** `kubectl auth can-i`, and what webhooks and aggregated servers ask: may this caller, or somebody, do that? */
import { ApiError } from '../api-error.ts';
import type { StatusCause } from '../api-error.ts';
import type { Caller } from '../authentication.ts';
import type { Access, Authorizer } from '../authorization/authorizer.ts';
import { isJsonObject, listAt, objectAt, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import {
  localSubjectAccessReviewSchema,
  selfSubjectAccessReviewSchema,
  selfSubjectRulesReviewSchema,
  subjectAccessReviewSchema,
} from '../schema/access-review-schema.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { invalidField } from './validation.ts';

const group = 'authorization.k8s.io';

export const selfSubjectAccessReviews: ResourceDefinition = defineResource({
  group,
  resource: 'selfsubjectaccessreviews',
  singular: 'selfsubjectaccessreview',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
  schema: selfSubjectAccessReviewSchema,
  verbs: ['create'],
  answer: (review, { caller, authorizer }) => {
    requireValid(review, [...attributesCauses(review), ...metadataCauses(review)]);
    return decided(review, caller, authorizer);
  },
});

export const subjectAccessReviews: ResourceDefinition = defineResource({
  group,
  resource: 'subjectaccessreviews',
  singular: 'subjectaccessreview',
  kind: 'SubjectAccessReview',
  namespaced: false,
  schema: subjectAccessReviewSchema,
  verbs: ['create'],
  answer: (review, { authorizer }) => {
    requireValid(review, [...attributesCauses(review), ...subjectCauses(review), ...metadataCauses(review)]);
    return decided(review, subjectOf(review), authorizer);
  },
});

export const localSubjectAccessReviews: ResourceDefinition = defineResource({
  group,
  resource: 'localsubjectaccessreviews',
  singular: 'localsubjectaccessreview',
  kind: 'LocalSubjectAccessReview',
  namespaced: true,
  schema: localSubjectAccessReviewSchema,
  verbs: ['create'],
  answer: (review, { authorizer }) => {
    requireValid(review, [...attributesCauses(review), ...subjectCauses(review), ...localCauses(review)]);
    return decided(review, subjectOf(review), authorizer);
  },
});

/** `kubectl auth can-i --list` */
export const selfSubjectRulesReviews: ResourceDefinition = defineResource({
  group,
  resource: 'selfsubjectrulesreviews',
  singular: 'selfsubjectrulesreview',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
  schema: selfSubjectRulesReviewSchema,
  verbs: ['create'],
  answer: (review, { caller, authorizer }) => {
    const namespace = textAt(review, 'spec', 'namespace');
    if (namespace === '') throw ApiError.badRequest('no namespace on request');
    const { rules, error } = authorizer.rulesFor(caller, namespace);
    return {
      ...review,
      spec: {},
      status: {
        resourceRules: rules.filter(({ resources = [] }) => resources.length > 0),
        nonResourceRules: rules.filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0),
        incomplete: false,
        ...(error === '' ? {} : { evaluationError: error }),
      },
    };
  },
});

function decided(review: KubeObject, caller: Caller, authorizer: Authorizer): KubeObject {
  const { allowed, reason } = authorizer.decide(accessOf(objectAt(review, 'spec'), caller));
  return { ...review, status: { allowed, ...(reason === '' ? {} : { reason }) } };
}

function accessOf(spec: JsonObject, caller: Caller): Access {
  const path = spec['nonResourceAttributes'];
  if (path !== undefined) return { caller, verb: textAt(path, 'verb'), path: textAt(path, 'path') };
  const text = (field: string): string => textAt(spec, 'resourceAttributes', field);
  return {
    caller,
    verb: text('verb'),
    group: text('group'),
    version: text('version'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
  };
}

/** Nobody's groups are completed: the one who asks says all. */
function subjectOf(review: KubeObject): Caller {
  const spec = objectAt(review, 'spec');
  const extra = Object.entries(objectAt(spec, 'extra')).map(([key, values]) => [key, texts(values)]);
  return {
    username: textAt(spec, 'user'),
    uid: textAt(spec, 'uid'),
    groups: texts(spec['groups']),
    extra: Object.fromEntries(extra),
  };
}

function texts(value: Json | undefined): readonly string[] {
  return listAt(value).filter((text) => typeof text === 'string');
}

function requireValid({ kind }: KubeObject, causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw ApiError.invalid({ group, resource: '', kind }, '', causes);
}

function attributesCauses(review: KubeObject): readonly StatusCause[] {
  const spec = objectAt(review, 'spec');
  const [resource, path] = [spec['resourceAttributes'], spec['nonResourceAttributes']];
  if (isJsonObject(resource) && isJsonObject(path)) {
    const why = 'cannot be specified in combination with resourceAttributes';
    return [invalidField('spec.nonResourceAttributes', path, why)];
  }
  if (isJsonObject(resource) || isJsonObject(path)) return [];
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
  return [invalidField('spec.resourceAttributes', null, why)];
}

function subjectCauses(review: KubeObject): readonly StatusCause[] {
  const { username, groups } = subjectOf(review);
  if (username !== '' || groups.length > 0) return [];
  return [invalidField('spec.user', '', 'at least one of user or group must be specified')];
}

function metadataCauses({ metadata }: KubeObject, exception = ''): readonly StatusCause[] {
  const { managedFields: _, ...rest } = metadata;
  if (Object.values(rest).every((value) => value === undefined)) return [];
  return [invalidField('metadata', metadata, `must be empty${exception}`)];
}

function localCauses(review: KubeObject): readonly StatusCause[] {
  const { namespace: _, ...rest } = review.metadata;
  const attributes = objectAt(review, 'spec', 'resourceAttributes');
  const path = objectAt(review, 'spec')['nonResourceAttributes'];
  const named = textAt(attributes, 'namespace');
  const causes = [...metadataCauses({ ...review, metadata: rest }, ' except for namespace')];
  if (path === undefined && named !== namespaceOf(review))
    causes.push(invalidField('spec.resourceAttributes.namespace', named, 'must match metadata.namespace'));
  if (path !== undefined)
    causes.push(invalidField('spec.nonResourceAttributes', path, 'disallowed on this kind of request'));
  return causes;
}
