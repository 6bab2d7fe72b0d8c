/** `kubectl auth whoami`: the caller as the server sees it, after impersonation. */
import type { Caller } from '../authentication.ts';
import type { JsonObject } from '../json.ts';
import { selfSubjectReviewSchema } from '../schema/review-schema.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

export const selfSubjectReviews: ResourceDefinition = defineResource({
  group: 'authentication.k8s.io',
  resource: 'selfsubjectreviews',
  singular: 'selfsubjectreview',
  kind: 'SelfSubjectReview',
  namespaced: false,
  schema: selfSubjectReviewSchema,
  verbs: ['create'],
  answer: (review, { caller }) => ({ ...review, status: { userInfo: userInfoOf(caller) } }),
});

/** As reviews tell of a user. */
export function userInfoOf({ username, uid, groups, extra }: Caller): JsonObject {
  return {
    username,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
