/** The form of what the admin listener says in JSON. */

import type { AdminAnswer } from '@roundhouse/process';
import type { GatewayError } from '../errors.ts';

/** It grows only by fields that are new. */
export const schemaVersion = 1;

export function json(value: unknown, status = 200): AdminAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value, null, 2)}\n` };
}

export function failure({ code, message, httpStatus }: GatewayError): AdminAnswer {
  return json({ schemaVersion, error: { code, message } }, httpStatus);
}
