/**
 * From the fields that came to the fields that go on: hop-by-hop fields stay behind, and so does everything by which the
 * client could say who is calling. What is left keeps its order, its case and its repeats.
 */

import { GatewayError } from '../errors.ts';
import { forEachField } from '../listener/field-list.ts';
import type { FrontRequest } from '../listener/front-request.ts';
import { isTraceField } from '../listener/trace-context.ts';
import {
  isFrontProxyField,
  isIdentityField,
  isImpersonationField,
  normaliseName,
} from './identity-fields.ts';

/**
 * Between two neighbours only (RFC 9110, section 7.6.1), and what stands for our own connection: the host that was asked
 * is the gateway, and its framing ends here.
 */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** A client that names one of these in `Connection` wants it gone on the way, and is up to no good. */
const neverHopByHop: ReadonlySet<string> = new Set([
  'accept',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'host',
]);

/**
 * Without `Authorization`: what of it goes on is decided apart.
 *
 * @param impersonates the client may act as whom its fields name
 * @param traced its trace context is valid
 *
 * @throws ERR_RH_REQUEST_MALFORMED, ERR_RH_IDENTITY_FIELD_REFUSED
 */
export function clientFields(
  { fields, connectionNames, protocol }: FrontRequest,
  { impersonates, traced }: { readonly impersonates: boolean; readonly traced: boolean },
): string[] {
  refuseNamedByConnection(connectionNames);
  const kept: string[] = [];
  const cookies: string[] = [];
  forEachField(fields, (name, value) => {
    const lower = name.toLowerCase();
    const normalised = normaliseName(name);
    if (isImpersonationField(normalised)) {
      if (impersonates) {
        // They were checked, and go on as our own.
        return;
      }
      throw new GatewayError(
        'ERR_RH_IDENTITY_FIELD_REFUSED',
        `the request has the field ${name}; who is calling is said to a cluster by the gateway alone`,
      );
    }
    if (
      hopByHop.has(lower) ||
      connectionNames.includes(lower) ||
      normalised === 'authorization' ||
      isFrontProxyField(normalised) ||
      (!traced && isTraceField(lower))
    ) {
      return;
    }
    if (protocol === 'h2' && lower === 'cookie') {
      // HTTP/2 may send crumbs, HTTP/1.1 has one field (RFC 9113, section 8.2.3).
      cookies.push(value);
      return;
    }
    kept.push(name, value);
  });
  if (cookies.length > 0) {
    kept.push('cookie', cookies.join('; '));
  }
  return kept;
}

function refuseNamedByConnection(names: readonly string[]): void {
  for (const name of names) {
    if (neverHopByHop.has(name) || isIdentityField(normaliseName(name))) {
      throw new GatewayError(
        'ERR_RH_REQUEST_MALFORMED',
        `the Connection field names ${name}, which is not hop-by-hop`,
      );
    }
  }
}
