/**
 * As whom a client wants to act: the fields by which kubectl's `--as`, `--as-group`, `--as-uid` and `--as-user-extra` ask the
 * kube-apiserver (k8s.io/apiserver, pkg/endpoints/filters/impersonation). Spellings that a server behind might take for one
 * of them are refused and not guessed.
 */

import type { Extra } from '../authentication/caller.ts';
import { GatewayError } from '../errors.ts';
import { forEachField } from '../listener/field-list.ts';
import { isImpersonationField, normaliseName } from './identity-fields.ts';

export interface ImpersonationWish {
  readonly user: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Extra;
}

const extraPrefix = 'impersonate-extra-';

/**
 * Undefined when the client wants to be itself.
 *
 * @param fields flat list, as they came
 * @throws ERR_RH_REQUEST_MALFORMED, ERR_RH_IDENTITY_FIELD_REFUSED
 */
export function impersonationWish(fields: readonly string[]): ImpersonationWish | undefined {
  const users: string[] = [];
  const uids: string[] = [];
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  let any = false;
  forEachField(fields, (name, raw) => {
    if (!isImpersonationField(normaliseName(name))) {
      return;
    }
    any = true;
    const lower = name.toLowerCase();
    const value = textOf(name, raw);
    if (lower === 'impersonate-user') {
      users.push(value);
    } else if (lower === 'impersonate-uid') {
      uids.push(value);
    } else if (lower === 'impersonate-group') {
      groups.push(value);
    } else if (lower.startsWith(extraPrefix) && lower.length > extraPrefix.length) {
      const key = keyOf(lower.slice(extraPrefix.length));
      extra.set(key, [...(extra.get(key) ?? []), value]);
    } else {
      throw new GatewayError(
        'ERR_RH_IDENTITY_FIELD_REFUSED',
        `the field ${name} is none that can be checked`,
      );
    }
  });
  if (!any) {
    return undefined;
  }
  const [user] = users;
  if (user === undefined || users.length > 1 || uids.length > 1) {
    throw new GatewayError(
      'ERR_RH_REQUEST_MALFORMED',
      'who acts as somebody names one user (Impersonate-User), and at most one uid',
    );
  }
  return { user, uid: uids[0], groups, extra };
}

/** The bytes of the field as UTF-8, which is what Go reads. */
function textOf(name: string, raw: string): string {
  const bytes = Buffer.from(raw, 'latin1');
  const text = bytes.toString('utf8');
  if (text === '' || !Buffer.from(text, 'utf8').equals(bytes)) {
    throw new GatewayError('ERR_RH_REQUEST_MALFORMED', `the field ${name} is empty or not UTF-8`);
  }
  return text;
}

/** Percent-encoded, since a key may have characters that a field's name cannot (`example.com/team`). */
function keyOf(encoded: string): string {
  try {
    return decodeURIComponent(encoded).toLowerCase();
  } catch {
    throw new GatewayError(
      'ERR_RH_REQUEST_MALFORMED',
      'the key of an Impersonate-Extra field cannot be decoded',
    );
  }
}
