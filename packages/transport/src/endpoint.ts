/**
 * What identifies a transport: everything that changes whom we trust or who we are, and nothing else. Two endpoints of
 * equal content have one key, however they are spelled. Tokens, headers and impersonated users belong to the request.
 */

import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { SecureVersion } from 'node:tls';
import { directDialer } from './dialer.ts';
import type { Dialer } from './dialer.ts';
import { TransportError } from './errors.ts';
import { TlsMaterial } from './tls-material.ts';

/** What a dial offers. `auto` offers both and takes what the server picks. */
export type AlpnOffer = 'http/1.1' | 'h2' | 'auto';

/** `by-kind`: HTTP/1.1 for short requests, and for long-running streams what the server picks of both. */
export type AlpnPolicy = AlpnOffer | 'by-kind';

export interface EndpointOptions {
  /** `http://host[:port]` or `https://host[:port]`, nothing behind it. */
  readonly url: string | URL;
  /** The name that the server's certificate is checked for, and SNI; default: the host. */
  readonly serverName?: string | undefined;
  readonly material?: TlsMaterial | undefined;
  /** Do not verify the server. An explicit choice; never shares anything with a verified endpoint. */
  readonly insecure?: boolean | undefined;
  /** Default `auto`; without TLS it is `http/1.1` unless `h2` is asked for (prior knowledge). */
  readonly alpn?: AlpnPolicy | undefined;
  /** Default `TLSv1.2`. */
  readonly minVersion?: SecureVersion | undefined;
  /** Default: the newest that Node.js has. */
  readonly maxVersion?: SecureVersion | undefined;
  /** OpenSSL cipher list; default: that of Node.js. */
  readonly ciphers?: string | undefined;
  /** Accept a CA that is not self-signed as an anchor, as Go's verifier does. Default false. */
  readonly allowPartialTrustChain?: boolean | undefined;
  /** Default: direct TCP. */
  readonly dialer?: Dialer | undefined;
}

type Scheme = 'http' | 'https';

/** The content of an endpoint. Every field of it is in `keyParts`, or this file does not compile. */
interface EndpointContent {
  readonly scheme: Scheme;
  readonly host: string;
  readonly port: number;
  readonly serverName: string;
  readonly material: TlsMaterial;
  readonly insecure: boolean;
  readonly alpn: AlpnPolicy;
  readonly minVersion: SecureVersion;
  readonly maxVersion: SecureVersion | undefined;
  readonly ciphers: string | undefined;
  readonly allowPartialTrustChain: boolean;
  readonly dialer: Dialer;
}

type KeyPart = string | number | boolean | undefined;

const keyParts: {
  readonly [Field in keyof EndpointContent]: (content: EndpointContent) => readonly KeyPart[];
} = {
  scheme: (content) => [content.scheme],
  host: (content) => [content.host],
  port: (content) => [content.port],
  serverName: (content) => [content.serverName],
  material: (content) => [content.material.caDigest, content.material.certDigest],
  insecure: (content) => [content.insecure],
  alpn: (content) => [content.alpn],
  minVersion: (content) => [content.minVersion],
  maxVersion: (content) => [content.maxVersion],
  ciphers: (content) => [content.ciphers],
  allowPartialTrustChain: (content) => [content.allowPartialTrustChain],
  dialer: (content) => [content.dialer.id],
};

export class Endpoint implements EndpointContent {
  readonly scheme: Scheme;
  readonly host: string;
  readonly port: number;
  readonly serverName: string;
  readonly material: TlsMaterial;
  readonly insecure: boolean;
  readonly alpn: AlpnPolicy;
  readonly minVersion: SecureVersion;
  readonly maxVersion: SecureVersion | undefined;
  readonly ciphers: string | undefined;
  readonly allowPartialTrustChain: boolean;
  readonly dialer: Dialer;
  /** SHA-256 over all of the above, hex. Holds no secret: a key is represented by its certificate. */
  readonly key: string;
  /** For people and for the Host field: scheme, host and, where it is not the default, port. */
  readonly origin: string;
  /** `host[:port]` as it stands in `origin`. */
  readonly authority: string;

  private constructor(content: EndpointContent) {
    this.scheme = content.scheme;
    this.host = content.host;
    this.port = content.port;
    this.serverName = content.serverName;
    this.material = content.material;
    this.insecure = content.insecure;
    this.alpn = content.alpn;
    this.minVersion = content.minVersion;
    this.maxVersion = content.maxVersion;
    this.ciphers = content.ciphers;
    this.allowPartialTrustChain = content.allowPartialTrustChain;
    this.dialer = content.dialer;
    this.key = keyOf(content);
    const bracketed = isIP(content.host) === 6 ? `[${content.host}]` : content.host;
    const defaultPort = content.scheme === 'https' ? 443 : 80;
    this.authority = content.port === defaultPort ? bracketed : `${bracketed}:${content.port}`;
    this.origin = `${content.scheme}://${this.authority}`;
    Object.freeze(this);
  }

  /** @throws ERR_RH_ENDPOINT_INVALID, ERR_RH_DIALER_UNIDENTIFIED */
  static from(options: EndpointOptions): Endpoint {
    const { scheme, host, port } = parseUrl(options.url);
    const dialer = options.dialer ?? directDialer;
    if (typeof dialer.id !== 'string' || dialer.id === '') {
      throw new TransportError('ERR_RH_DIALER_UNIDENTIFIED', `the dialer for ${host} has no id`);
    }
    if (scheme === 'http') {
      refuseTlsOptions(options);
    }
    const serverName = normaliseName(options.serverName ?? host);
    if (serverName === '') {
      throw new TransportError('ERR_RH_ENDPOINT_INVALID', `the server name for ${host} is empty`);
    }
    return new Endpoint({
      scheme,
      host,
      port,
      serverName,
      material: options.material ?? TlsMaterial.none,
      insecure: options.insecure ?? false,
      alpn: options.alpn ?? (scheme === 'https' ? 'auto' : 'http/1.1'),
      minVersion: options.minVersion ?? 'TLSv1.2',
      maxVersion: options.maxVersion,
      ciphers: options.ciphers,
      allowPartialTrustChain: options.allowPartialTrustChain ?? false,
      dialer,
    });
  }
}

function parseUrl(input: string | URL): { scheme: Scheme; host: string; port: number } {
  const url = typeof input === 'string' ? URL.parse(input) : input;
  if (url === null) {
    throw new TransportError('ERR_RH_ENDPOINT_INVALID', 'the address is not a URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw new TransportError(
      'ERR_RH_ENDPOINT_INVALID',
      `the address of ${url.host} has user information in it`,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TransportError(
      'ERR_RH_ENDPOINT_INVALID',
      `the scheme of ${url.host} is ${url.protocol} not http: or https:`,
    );
  }
  if ((url.pathname !== '' && url.pathname !== '/') || url.search !== '' || url.hash !== '') {
    throw new TransportError(
      'ERR_RH_ENDPOINT_INVALID',
      `the address of ${url.host} has a path, query or fragment`,
    );
  }
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  const port = url.port === '' ? (scheme === 'https' ? 443 : 80) : Number(url.port);
  return { scheme, host: normaliseName(url.hostname), port };
}

/** Lower case, no trailing dot (the root is implied in a certificate), no brackets round IPv6. */
function normaliseName(name: string): string {
  const lower = name.toLowerCase();
  if (lower.startsWith('[') && lower.endsWith(']')) {
    return lower.slice(1, -1);
  }
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

function refuseTlsOptions(options: EndpointOptions): void {
  const given = (
    [
      'serverName',
      'material',
      'insecure',
      'minVersion',
      'maxVersion',
      'ciphers',
      'allowPartialTrustChain',
    ] as const
  ).filter(
    (name) => options[name] !== undefined && options[name] !== false && options[name] !== TlsMaterial.none,
  );
  const negotiated = options.alpn === 'auto' || options.alpn === 'by-kind' ? [`alpn ${options.alpn}`] : [];
  if (given.length > 0 || negotiated.length > 0) {
    const names = [...given, ...negotiated].join(', ');
    throw new TransportError('ERR_RH_ENDPOINT_INVALID', `${names} given for an address without TLS`);
  }
}

/** Length-prefixed, so that no two contents run together into one text. */
function keyOf(content: EndpointContent): string {
  const hash = createHash('sha256');
  for (const [field, parts] of Object.entries(keyParts)) {
    hash.update(`${field}(`);
    for (const part of parts(content)) {
      const text = part === undefined ? '-' : `${typeof part}:${String(part)}`;
      hash.update(`${Buffer.byteLength(text)}:${text};`);
    }
    hash.update(')');
  }
  return hash.digest('hex');
}
