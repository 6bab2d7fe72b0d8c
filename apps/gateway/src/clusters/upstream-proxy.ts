/** Which proxy a cluster is reached through whose kubeconfig names none. */

import { ProcessError } from '@roundhouse/process';
import { proxyFromEnvironment } from '@roundhouse/transport';
import type { ProxyChoice, ProxyEnvironment } from '@roundhouse/transport';

/**
 * None, unless the options ask for that of the environment.
 *
 * @throws ERR_RH_OPTIONS_INVALID without an environment to ask, ERR_RH_PROXY_URL_INVALID for what it says
 */
export function upstreamProxyOf(
  { upstreamProxyFromEnvironment }: { readonly upstreamProxyFromEnvironment: boolean },
  environment: ProxyEnvironment | undefined,
): ProxyChoice | undefined {
  if (!upstreamProxyFromEnvironment) {
    return undefined;
  }
  if (environment === undefined) {
    throw new ProcessError(
      'ERR_RH_OPTIONS_INVALID',
      'upstreamProxyFromEnvironment needs an environment beside the options',
    );
  }
  return proxyFromEnvironment(environment);
}
