/** What webhooks and aggregated servers ask of a bearer token that they were shown: whose is it? */
import { ApiError } from '../api-error.ts';
import { textAt } from '../json.ts';
import { tokenReviewSchema } from '../schema/review-schema.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { userInfoOf } from './self-subject-reviews.ts';

export const tokenReviews: ResourceDefinition = defineResource({
  group: 'authentication.k8s.io',
  resource: 'tokenreviews',
  singular: 'tokenreview',
  kind: 'TokenReview',
  namespaced: false,
  schema: tokenReviewSchema,
  verbs: ['create'],
  answer: (review, { callerOf }) => {
    const token = textAt(review, 'spec', 'token');
    if (token === '') throw ApiError.badRequest('token is required for TokenReview in authentication');
    const caller = callerOf(token);
    const status =
      caller === undefined
        ? { user: {}, error: 'invalid bearer token' }
        : { authenticated: true, user: userInfoOf(caller) };
    return { ...review, status };
  },
});
