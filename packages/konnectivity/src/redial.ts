/** Which failures of a dial are worth another try, at another proxy-server: those that cannot have reached the address. */

import { TunnelError } from './errors.ts';
import type { TunnelCounts } from './counts.ts';
import type { ProxyServer } from './session/proxy-server.ts';
import type { ProxyServers } from './session/proxy-servers.ts';

/**
 * A proxy-server that cannot be reached is passed over for the next, each once. "No agent" is asked once more, of another: an agent that
 * has just started is not connected to all of them yet.
 *
 * @param attempt makes one try at one proxy-server
 */
export async function dialOneOf<T>(
  servers: ProxyServers,
  counts: TunnelCounts,
  signal: AbortSignal,
  attempt: (server: ProxyServer) => Promise<T>,
): Promise<T> {
  const tried = new Set<ProxyServer>();
  let askedAgain = false;
  let failure: unknown;
  for (;;) {
    const server = await servers.next(tried, signal);
    if (server === undefined) {
      throw failure;
    }
    if (tried.size > 0) {
      counts.redials += 1;
    }
    tried.add(server);
    try {
      return await attempt(server);
    } catch (error) {
      // The first failure with a word of an agent says more than that the next server could not be reached either.
      failure = failure instanceof TunnelError && failure.code === 'ERR_RH_TUNNEL_NO_AGENT' ? failure : error;
      const again = error instanceof TunnelError && !signal.aborted ? whyAgain(error) : undefined;
      if (again === undefined || (again === 'no agent' && askedAgain)) {
        throw failure;
      }
      askedAgain ||= again === 'no agent';
      servers.expire();
    }
  }
}

function whyAgain({ code, data }: TunnelError): 'no agent' | 'not looked at' | undefined {
  switch (code) {
    case 'ERR_RH_TUNNEL_NO_AGENT':
      return 'no agent';
    case 'ERR_RH_TUNNEL_SERVER':
    case 'ERR_RH_TUNNEL_UNTRUSTED':
      return 'not looked at';
    default:
      return data['refused'] === true ? 'not looked at' : undefined;
  }
}
