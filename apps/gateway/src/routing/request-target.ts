/**
 * The raw request target, taken apart without changing a byte. What could mean two things to two readers is refused here,
 * so that everything behind decides on the very string that is forwarded.
 */

import { GatewayError } from '../errors.ts';

export interface RequestTarget {
  /** The path as it came, still encoded. Begins with a slash. */
  readonly path: string;
  /** As it came, with its question mark; empty when there is none. */
  readonly query: string;
}

/** Longer ones are refused before anything is done with them. */
const maxTargetLength = 16_384;

/**
 * Visible ASCII without: `"`, `#` (a fragment is for the client only), `<`, `>`, `\` (a slash to some), `^`, `` ` ``, `{`,
 * `|`, `}`. The brackets and the rest of RFC 3986's characters are let pass.
 */
const allowedCharacters = /^[!$-;=?-[\]_a-z~]*$/;
/** kubectl and browsers put more into a query than RFC 3986 knows; it is forwarded as it is and never a path. */
const allowedQueryCharacters = /^[!"$-[\]-~]*$/;
const badEscape = /%(?![0-9a-fA-F]{2})/;
/** NUL, control characters and DEL, once decoded. */
const encodedControl = /%(?:[01][0-9a-fA-F]|7[fF])/;
const encodedBackslash = /%5[cC]/;
/** `.` and `..` as whole segments, encoded or not, with or without a parameter behind. */
const dotSegment = /\/(?:\.|%2[eE]){1,2}(?:;[^/]*)?(?=\/|$)/;

/** @throws ERR_RH_PATH_AMBIGUOUS */
export function parseRequestTarget(target: string): RequestTarget {
  if (target.length > maxTargetLength) {
    throw ambiguous(`the target is longer than ${maxTargetLength} characters`);
  }
  if (!target.startsWith('/')) {
    throw ambiguous('only targets in origin form are served: a path that begins with a slash');
  }
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? '' : target.slice(mark);
  if (!allowedCharacters.test(path) || !allowedQueryCharacters.test(query)) {
    throw ambiguous('the target has a character that does not belong into one');
  }
  if (path.includes('%')) {
    refuseBadEscapes(path);
  }
  if (dotSegment.test(path)) {
    throw ambiguous('the path has a dot segment');
  }
  if (path.startsWith('//')) {
    throw ambiguous('the path begins with an empty segment');
  }
  return { path, query };
}

function refuseBadEscapes(path: string): void {
  if (badEscape.test(path)) {
    throw ambiguous('the path has a percent sign without two hexadecimal digits');
  }
  if (encodedControl.test(path) || encodedBackslash.test(path)) {
    throw ambiguous('the path has an encoded control character or backslash');
  }
}

/** @throws ERR_RH_PATH_AMBIGUOUS when the escapes are not UTF-8 */
export function decodeSegment(segment: string): string {
  if (!segment.includes('%')) {
    return segment;
  }
  try {
    return decodeURIComponent(segment);
  } catch {
    throw ambiguous('the path has escapes that are not UTF-8');
  }
}

export function ambiguous(reason: string): GatewayError {
  return new GatewayError('ERR_RH_PATH_AMBIGUOUS', reason);
}
