/** Starts to listen, and says in words what is wrong when that fails. */

import { once } from 'node:events';
import { isIP } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { ProcessError } from './errors.ts';

export interface ListenAddress {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
}

/**
 * @param option what to change, for the message, for instance `--listen`
 * @throws ERR_RH_LISTEN_FAILED
 */
export async function listen(
  server: Server,
  { host, port }: ListenAddress,
  option: string,
): Promise<ListenAddress> {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (cause) {
    throw new ProcessError(
      'ERR_RH_LISTEN_FAILED',
      `cannot listen on ${authorityOf({ host, port })}: ${reasonOf(cause, port)} (${option})`,
      { cause },
    );
  }
  const address = server.address();
  return isAddressInfo(address) ? { host: address.address, port: address.port } : { host, port };
}

/** `host:port`, with brackets round IPv6. */
export function authorityOf({ host, port }: ListenAddress): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

function reasonOf(cause: unknown, port: number): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} is taken`;
    case 'EACCES':
      return `this user may not use port ${port}`;
    case 'EADDRNOTAVAIL':
      return 'no interface of this machine has that address';
    default:
      return cause instanceof Error ? cause.message : String(cause);
  }
}

function isAddressInfo(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}
