/** Options are parsed once, at the start; what is not in the schema is an error and not ignored. */

import { prettifyError } from 'zod';
import type { z } from 'zod';
import { ProcessError } from './errors.ts';

/**
 * @param what names the options in the message, for instance `roundhouse gateway`
 * @throws ERR_RH_OPTIONS_INVALID with one line an option. Values are not quoted: some are secrets.
 */
export function parseOptions<Schema extends z.ZodType>(
  what: string,
  schema: Schema,
  value: unknown,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) {
    throw new ProcessError(
      'ERR_RH_OPTIONS_INVALID',
      `the options of ${what} cannot be used:\n${prettifyError(result.error)}`,
    );
  }
  return result.data;
}
