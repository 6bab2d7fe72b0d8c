/** Where a proxy-server listens for clients, and how it is known that it is the one. */

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import { nameOf, targetOf } from './dial-target.ts';
import { TunnelError } from './errors.ts';

/** TLS material by its shape; `TlsMaterial` of `@roundhouse/transport` has it. All is PEM. */
export interface TunnelTlsMaterial {
  secureContextOptions(): { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

export interface TunnelTls {
  readonly material: TunnelTlsMaterial;
  /** The name that the certificate of the proxy-server is checked for. Default: the host of its address. */
  readonly serverName?: string | undefined;
}

export type ServerAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number; readonly name: string }
  | { readonly kind: 'unix'; readonly path: string; readonly name: string };

/** What is the same for all sessions of one set of proxy-servers. */
export interface ServerIdentity {
  readonly addresses: readonly ServerAddress[];
  readonly context: SecureContext | undefined;
  readonly serverName: string | undefined;
  /** Equal exactly when addresses, names, CA and client certificate are equal. Nothing of the key is in it. */
  readonly digest: string;
}

/**
 * @param servers `host:port`, or `unix:/path`
 * @throws ERR_RH_TUNNEL_OPTIONS
 */
export function serverIdentity(servers: readonly string[], tls: TunnelTls | undefined): ServerIdentity {
  const addresses = [...new Set(servers)].map(addressOf);
  if (addresses.length === 0) {
    throw new TunnelError('ERR_RH_TUNNEL_OPTIONS', 'no address of a proxy-server is given');
  }
  if (tls === undefined && addresses.some(({ kind }) => kind === 'tcp')) {
    throw new TunnelError(
      'ERR_RH_TUNNEL_OPTIONS',
      'a proxy-server that is reached over TCP needs tls: without it anybody could take its place',
    );
  }
  const pem = tls?.material.secureContextOptions() ?? {};
  const serverName = tls?.serverName;
  return {
    addresses,
    serverName,
    context: tls === undefined ? undefined : contextOf(pem),
    digest: digest([
      ...addresses.map(({ name }) => name).toSorted(),
      serverName ?? '',
      pem.ca ?? '',
      pem.cert ?? '',
    ]),
  };
}

/** SNI carries names only (RFC 6066, section 3). */
export function serverNameOption(name: string): { servername?: string } {
  return isIP(name) === 0 ? { servername: name } : {};
}

function addressOf(text: string): ServerAddress {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length).replace(/^\/\//, '');
    if (!path.startsWith('/') || path.includes('\0')) {
      throw new TunnelError('ERR_RH_TUNNEL_OPTIONS', `${text} is not unix:/path of a socket`);
    }
    return { kind: 'unix', path, name: `unix:${path}` };
  }
  try {
    const target = targetOf(text);
    return { kind: 'tcp', ...target, name: nameOf(target) };
  } catch (cause) {
    throw new TunnelError(
      'ERR_RH_TUNNEL_OPTIONS',
      'the address of a proxy-server is neither host:port nor unix:/path',
      { cause },
    );
  }
}

function contextOf(pem: ReturnType<TunnelTlsMaterial['secureContextOptions']>): SecureContext {
  try {
    return createSecureContext({ ...pem, minVersion: 'TLSv1.2' });
  } catch {
    // OpenSSL's message may quote the material, so it is not kept as the cause.
    throw new TunnelError('ERR_RH_TUNNEL_OPTIONS', 'OpenSSL refuses the TLS material for the proxy-servers');
  }
}

function digest(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    hash.update(`${part.length}:${part};`);
  }
  return hash.digest('hex');
}
