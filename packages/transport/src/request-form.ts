/**
 * Whether a request can go onto the wire as it is. Checked here for both protocols and before a connection is chosen: an
 * HTTP/2 peer drops a field that it finds malformed and executes the rest, and a dropped field may be the one that says
 * on whose behalf.
 */

import type { RequestOptions } from './request.ts';

/** RFC 9110, section 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Visible ASCII. Anything else in a request target has to be percent-encoded (RFC 3986, section 2). */
const originForm = /^\/[!-~]*$/;
/** RFC 9110, section 5.5: visible characters and what is beyond ASCII, blanks only in between. */
const fieldValue = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/;

/** What is wrong with it; undefined when nothing is. Values are never quoted: they may be secret. */
export function faultOf({ method, path, headers }: RequestOptions): string | undefined {
  if (!token.test(method)) {
    return 'the method is not a token';
  }
  if (!originForm.test(path)) {
    return 'the path does not start with a slash, or has a blank, a control or a non-ASCII character in it';
  }
  if (headers.length % 2 !== 0) {
    return 'the last field has no value';
  }
  let hosts = 0;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (!token.test(name)) {
      return `field name ${index / 2 + 1} is not a token`;
    }
    if (!fieldValue.test(headers[index + 1] ?? '')) {
      return `the value of ${name} has a control character in it, or a blank at an end`;
    }
    hosts += name.length === 4 && name.toLowerCase() === 'host' ? 1 : 0;
  }
  return hosts > 1 ? 'there is more than one Host field' : undefined;
}
