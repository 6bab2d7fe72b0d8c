/** Header fields as undici takes and gives them. */

import type { Dispatcher } from 'undici';

/** With a Host field in front, unless there is one. */
export function withHost(headers: readonly string[], authority: string): string[] {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index]?.length === 4 && headers[index]?.toLowerCase() === 'host') {
      return [...headers];
    }
  }
  return ['host', authority, ...headers];
}

export function rawFields(fields: Dispatcher.DispatchController['rawHeaders']): string[] {
  return Array.isArray(fields)
    ? fields.map((field) => (typeof field === 'string' ? field : field.toString('latin1')))
    : [];
}
