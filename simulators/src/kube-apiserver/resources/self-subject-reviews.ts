/** `kubectl auth whoami`: the caller as the server sees it, after impersonation. */
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
  answer: (review, caller) => ({
    ...review,
    status: {
      userInfo: {
        username: caller.username,
        ...(caller.uid === '' ? {} : { uid: caller.uid }),
        groups: caller.groups,
        ...(Object.keys(caller.extra).length === 0 ? {} : { extra: caller.extra }),
      },
    },
  }),
});
