/** Questions that are answered and not stored: who am I, and whose is this token? */
import { kindSchema } from './meta-schema.ts';
import { bool, inline, list, mapOf, struct, text, texts } from './schema.ts';
import type { Schema } from './schema.ts';

const authentication = 'io.k8s.api.authentication.v1';

export const userExtra: Schema = mapOf('Whatever else is known.', list({ type: 'string', default: '' }, ''));

const userInfo = struct(`${authentication}.UserInfo`, 'A user.', [], {
  username: text('The name.'),
  uid: text('The UID.'),
  groups: texts('The groups.'),
  extra: userExtra,
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

export const tokenReviewSchema: Schema = kindSchema(
  `${authentication}.TokenReview`,
  'Whose a token is.',
  {
    spec: inline(
      struct(`${authentication}.TokenReviewSpec`, 'The question.', [], {
        token: text('The token.'),
        audiences: texts('For whom it has to be; without any: for the server itself.'),
      }),
      'The question.',
    ),
    status: inline(
      struct(`${authentication}.TokenReviewStatus`, 'The answer.', [], {
        authenticated: bool('Whether anybody has it.'),
        user: inline(userInfo, 'Whose it is.'),
        audiences: texts('For whom it is.'),
        error: text('Why nothing is known of it.'),
      }),
      'The answer.',
    ),
  },
  ['spec'],
);
