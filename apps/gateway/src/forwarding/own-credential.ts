/** The credential that the gateway shows in a request: at hand for nearly every one, and obtained for the first. */

import type { PresentCredential } from '@roundhouse/kubernetes';
import type { Cluster } from '../clusters/cluster.ts';
import { GatewayError } from '../errors.ts';
import { clientGone } from './client-gone.ts';
import type { Forwarding, StopForwarding } from './forward.ts';

/**
 * Waits no longer than there is somebody to wait for.
 *
 * @throws ERR_RH_CREDENTIAL_UNAVAILABLE, ERR_RH_CLIENT_GONE, ERR_RH_SHUTTING_DOWN
 */
export async function obtainOwnCredential(
  { cluster, reply }: Pick<Forwarding, 'cluster' | 'reply'>,
  started: (stop: StopForwarding) => void,
): Promise<PresentCredential> {
  const ended = Promise.withResolvers<never>();
  started({
    stop: () => ended.reject(new GatewayError('ERR_RH_SHUTTING_DOWN', 'the gateway is shutting down')),
  });
  reply.onClosed = () => ended.reject(clientGone());
  if (reply.closed) {
    throw clientGone();
  }
  return Promise.race([cluster.obtainCredential(), ended.promise]);
}

/** What is not sent twice does not find another credential for itself, but for whoever comes next. */
export function renewRefused(cluster: Cluster, credential: PresentCredential, error: unknown): void {
  if (error instanceof GatewayError && error.code === 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED') {
    void cluster.renewCredential(credential);
  }
}
