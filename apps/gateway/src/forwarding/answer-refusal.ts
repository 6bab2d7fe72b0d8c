/** Answers of a cluster that are not passed on, whatever was asked. */

import type { IncomingHttpHeaders } from 'node:http';
import { GatewayError } from '../errors.ts';

export interface AskedCluster {
  /** Its name, for messages. */
  readonly cluster: string;
  /** A 401 is about the gateway's credential. */
  readonly ownCredential: boolean;
}

/** Undefined when it may be passed on. */
export function refusalOfAnswer(
  status: number,
  headers: IncomingHttpHeaders,
  { cluster, ownCredential }: AskedCluster,
): GatewayError | undefined {
  if (status >= 300 && status < 400 && status !== 304) {
    const host = URL.parse(headers.location ?? '')?.host;
    return new GatewayError(
      'ERR_RH_UPSTREAM_REDIRECT',
      `cluster ${cluster} answered ${status}${host === undefined || host === '' ? '' : `, to ${host}`}; redirects are neither followed nor passed on`,
    );
  }
  if (status === 401 && ownCredential) {
    return new GatewayError(
      'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED',
      `cluster ${cluster} does not accept the gateway's own credential (401)`,
    );
  }
  return undefined;
}
