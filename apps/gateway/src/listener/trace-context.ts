/** Trace context (W3C, Trace Context): passed on as it came where it is valid, left out where it is not. */

import { forEachField } from './field-list.ts';

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-[\x21-\x7e]*)?$/;

/** The trace that the request belongs to; undefined when it says none, or says it in a way that is not valid. */
export function traceIdOf(fields: readonly string[]): string | undefined {
  let found: string | undefined;
  let count = 0;
  forEachField(fields, (name, value) => {
    if (name.length === 11 && name.toLowerCase() === 'traceparent') {
      found = value;
      count += 1;
    }
  });
  const [, version, traceId, parentId, more] = (count === 1 ? pattern.exec(found ?? '') : null) ?? [];
  const valid =
    traceId !== undefined &&
    version !== 'ff' &&
    (version !== '00' || more === undefined) &&
    !/^0+$/.test(traceId) &&
    !/^0+$/.test(parentId ?? '');
  return valid ? traceId : undefined;
}

export function isTraceField(lowerName: string): boolean {
  return lowerName === 'traceparent' || lowerName === 'tracestate';
}
