/** Questions that are answered and not stored: who am I, and what may I? */
import { kindSchema } from './meta-schema.ts';
import { inline, mapOf, list, struct, text, texts } from './schema.ts';
import type { Schema } from './schema.ts';

const authentication = 'io.k8s.api.authentication.v1';

const userInfo = struct(`${authentication}.UserInfo`, 'A user.', [], {
  username: text('The name.'),
  uid: text('The UID.'),
  groups: texts('The groups.'),
  extra: mapOf('Whatever else is known.', list({ type: 'string', default: '' }, '')),
});

export const selfSubjectReviewSchema: Schema = kindSchema(
  `${authentication}.SelfSubjectReview`,
  'Who the caller is.',
  {
    status: inline(
      struct(`${authentication}.SelfSubjectReviewStatus`, 'The answer.', [], {
        userInfo: inline(userInfo, 'The caller.'),
      }),
      'The answer.',
    ),
  },
);
