/** The fields by which the gateway says to a cluster who is calling. They are added last, and nothing is removed after. */

import type { PresentCredential } from '@roundhouse/kubernetes';
import type { Caller } from '../authentication/caller.ts';
import { GatewayError } from '../errors.ts';
import type { IdentityMode } from './identity-mode.ts';

/**
 * @param credential the gateway's own
 * @param authorization what the client sent
 * @throws ERR_RH_UNAUTHENTICATED when there is nobody to speak for
 */
export function outgoingIdentity(
  mode: IdentityMode,
  credential: PresentCredential,
  caller: Caller,
  authorization: string | undefined,
): string[] {
  switch (mode) {
    case 'passthrough':
      return ['Authorization', callersToken(authorization)];
    case 'gateway':
      return ownCredential(credential);
    case 'impersonate':
      return [...ownCredential(credential), ...impersonationOf(caller)];
    default:
      return neverMode(mode);
  }
}

/** Whether a 401 of the cluster is about the gateway's credential, and not about the caller's. */
export function speaksWithOwnCredential(mode: IdentityMode): boolean {
  return mode !== 'passthrough';
}

function ownCredential({ authorization }: PresentCredential): string[] {
  return authorization === undefined ? [] : ['Authorization', authorization];
}

function callersToken(authorization: string | undefined): string {
  // Without one the cluster would take the request for an anonymous one, or whatever its front makes of it.
  if (authorization === undefined || authorization.trim() === '') {
    throw new GatewayError(
      'ERR_RH_UNAUTHENTICATED',
      "this cluster is asked with the caller's own token, and the request has none",
    );
  }
  return authorization;
}

function impersonationOf({ method, user, uid, groups, extra }: Caller): string[] {
  if (method === 'none' || user === '') {
    throw new GatewayError(
      'ERR_RH_UNAUTHENTICATED',
      'nobody is authenticated whom the gateway could impersonate',
    );
  }
  return [
    'Impersonate-User',
    fieldValue(user),
    ...(uid === undefined ? [] : ['Impersonate-Uid', fieldValue(uid)]),
    ...groups.flatMap((group) => ['Impersonate-Group', fieldValue(group)]),
    ...[...(extra ?? [])].flatMap(([key, values]) =>
      values.flatMap((value) => [`Impersonate-Extra-${fieldName(key)}`, fieldValue(value)]),
    ),
  ];
}

/** Percent-encoded where a field's name cannot have it, and where it could be taken for that (client-go, headerKeyEscape). */
function fieldName(key: string): string {
  return Array.from(Buffer.from(key, 'utf8'), (byte) => {
    const character = String.fromCharCode(byte);
    return /[!#$&'*+.^_`|~0-9A-Za-z-]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
}

/**
 * As Go reads it: the bytes of its UTF-8. White space at the ends would be lost on the way and make another name; control
 * characters would end the field.
 */
function fieldValue(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(text) || text.trim() !== text || text === '') {
    throw new GatewayError(
      'ERR_RH_UNAUTHENTICATED',
      "the caller's name, uid, a group or an extra cannot be sent on: it is empty or has white space at its ends or control characters",
    );
  }
  return Buffer.from(text, 'utf8').toString('latin1');
}

function neverMode(mode: never): never {
  throw new GatewayError('ERR_RH_INTERNAL', `unknown identity mode ${String(mode)}`);
}
