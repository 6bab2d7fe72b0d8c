/** What is dialed: a host, which the proxy-server looks for among its agents and the agent resolves, and a port. */

import { isIPv6 } from 'node:net';
import { TunnelError } from './errors.ts';

export interface TunnelTarget {
  /** Name or IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

const longestHost = 253;

/**
 * @param address `host:port`, IPv6 in brackets; or the two
 * @throws ERR_RH_TUNNEL_ADDRESS
 */
export function targetOf(address: string | TunnelTarget): TunnelTarget {
  const { host, port } = typeof address === 'string' ? parts(address) : address;
  if (host === '' || host.length > longestHost) {
    throw refused(`its host has ${host.length} characters; 1 to ${longestHost} are possible`);
  }
  // It becomes a line of HTTP in one mode, and `host:port` in both.
  if (!/^[\x21-\x7e]+$/.test(host) || /[/@[\]\\?#]/.test(host) || (host.includes(':') && !isIPv6(host))) {
    throw refused('its host has characters that no name and no address has');
  }
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw refused('its port is not a number from 1 to 65535');
  }
  return { host, port };
}

/** As it goes on the wire. */
export function nameOf({ host, port }: TunnelTarget): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function parts(address: string): TunnelTarget {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(address) ?? [];
  if (port === undefined) {
    throw refused('it is not host:port, an IPv6 address in brackets');
  }
  return { host: bracketed ?? plain ?? '', port: Number(port) };
}

function refused(why: string): TunnelError {
  return new TunnelError('ERR_RH_TUNNEL_ADDRESS', `the address cannot be dialed through a tunnel: ${why}`);
}
