/** The way to a cluster through a proxy, by the rules of client-go where there are some. */

import { proxyDialer } from '@roundhouse/transport';
import type { Dialer, TlsMaterial } from '@roundhouse/transport';

/**
 * Requests, watches and upgrades all go through CONNECT or SOCKS5, also to a server without TLS.
 *
 * @param url `http`, `https`, `socks5` or `socks5h`; names are resolved by the proxy with either of the last two, as for
 * client-go
 * @param serverTrust the CA of the cluster, which verifies an https proxy, too, as for client-go; without it the roots that
 * Node.js trusts. An https proxy is verified also on the way to a cluster that is not, and never sees its client certificate.
 * @throws ERR_RH_PROXY_URL_INVALID
 */
export function clusterProxyDialer(url: string, serverTrust: TlsMaterial): Dialer {
  const resolvingThere = url.replace(/^socks5:/i, 'socks5h:');
  const secure = /^https:/i.test(url);
  return proxyDialer({ url: resolvingThere, ...(secure && { material: serverTrust }) });
}
