/** Fields of the cluster's answer that go on to the client: all but those that are about the connection to the cluster. */

import { forEachField, tokensOf } from '../listener/field-list.ts';

const hopByHop: ReadonlySet<string> = new Set([
  // Where else the cluster can be reached is nothing that the client could use, or should.
  'alt-svc',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  // Trailers are not passed on, so they are not announced.
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface ResponseFields {
  readonly fields: string[];
  /** Lower case, without parameters; empty when it is not said. */
  readonly mediaType: string;
  /** Whether the body is coded, so that nothing can be added to it. */
  readonly encoded: boolean;
}

export function responseFields(raw: readonly string[]): ResponseFields {
  const fields: string[] = [];
  const named: string[] = [];
  let mediaType = '';
  let encoded = false;
  forEachField(raw, (name, value) => {
    const lower = name.toLowerCase();
    if (!hopByHop.has(lower)) {
      fields.push(name, value);
    }
    if (lower === 'connection') {
      named.push(...tokensOf(value));
    } else if (lower === 'content-type') {
      mediaType = (value.split(';', 1)[0] ?? '').trim().toLowerCase();
    } else if (lower === 'content-encoding') {
      encoded = value.trim() !== '' && value.trim().toLowerCase() !== 'identity';
    }
  });
  // Most clusters name nothing there, or what is left out in any case.
  return named.every((name) => name === 'close' || hopByHop.has(name))
    ? { fields, mediaType, encoded }
    : { fields: fieldsWithout(named, fields), mediaType, encoded };
}

function fieldsWithout(named: readonly string[], fields: readonly string[]): string[] {
  const left: string[] = [];
  forEachField(fields, (name, value) => {
    const lower = name.toLowerCase();
    // A cluster that names its own framing there would leave the client without.
    if (!named.includes(lower) || lower === 'content-length' || lower === 'content-type') {
      left.push(name, value);
    }
  });
  return left;
}
