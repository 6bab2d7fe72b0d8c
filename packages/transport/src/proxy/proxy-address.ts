/** Where a proxy is and how it is spoken to, out of its URL. The password is kept from every message and every id. */

import { createHmac, randomBytes } from 'node:crypto';
import type { DialTarget } from '../dialer.ts';
import { Endpoint } from '../endpoint.ts';
import { TransportError } from '../errors.ts';
import type { TlsMaterial } from '../tls-material.ts';

export interface ProxyOptions {
  /**
   * `scheme://[user[:password]@]host[:port]`, user and password percent-encoded. `http` and `https` speak HTTP CONNECT,
   * over TCP (port 80) or TLS (443). `socks5` and `socks5h` (1080) resolve the endpoint's name here and at the proxy.
   */
  readonly url: string | URL;
  /** Of an https proxy: the CA that it is verified with, and our certificate for it. Default: the roots that Node.js trusts. */
  readonly material?: TlsMaterial | undefined;
  /** Of an https proxy: the name that its certificate is checked for. Default: the host of the URL. */
  readonly serverName?: string | undefined;
}

export type ProxyScheme = 'http' | 'https' | 'socks5' | 'socks5h';

export interface ProxyCredentials {
  readonly username: string;
  /** May be empty. */
  readonly password: string;
}

export interface ProxyAddress {
  readonly scheme: ProxyScheme;
  /** Where it listens, and by what it is trusted; no TLS but for `https`. */
  readonly endpoint: Endpoint;
  readonly credentials: ProxyCredentials | undefined;
  /** For messages: `socks5://host:port`. */
  readonly name: string;
  /**
   * Of a dialer. Equal for equal content, within this process: the digest of the credentials in it is keyed, so that nobody
   * who reads it can try passwords on it.
   */
  readonly id: string;
}

const defaultPorts: Readonly<Record<ProxyScheme, number>> = {
  http: 80,
  https: 443,
  socks5: 1080,
  socks5h: 1080,
};

/** RFC 1929: a length in one byte. Nobody's Basic credentials are longer, either. */
const maxCredentialBytes = 255;

const idKey = randomBytes(32);

/** @throws ERR_RH_PROXY_URL_INVALID, and what `Endpoint.from` throws for TLS options */
export function parseProxy(options: ProxyOptions): ProxyAddress {
  const url = typeof options.url === 'string' ? URL.parse(options.url) : options.url;
  const scheme = url?.protocol.slice(0, -1) ?? '';
  if (url === null || url.hostname === '' || !isProxyScheme(scheme)) {
    throw invalid('it is not an http://, https://, socks5:// or socks5h:// URL with a host');
  }
  if ((url.pathname !== '' && url.pathname !== '/') || url.search !== '' || url.hash !== '') {
    throw invalid('it has a path, query or fragment');
  }
  const { material, serverName } = options;
  const port = url.port === '' ? defaultPorts[scheme] : Number(url.port);
  const endpointUrl = URL.parse(`${scheme === 'https' ? 'https' : 'http'}://${url.hostname}:${port}`);
  if (endpointUrl === null || port === 0) {
    throw invalid('its host or port is none');
  }
  const endpoint = Endpoint.from({
    url: endpointUrl,
    material,
    serverName,
    ...(scheme === 'https' && { alpn: 'http/1.1' }),
  });
  const credentials = credentialsOf(url);
  const name = `${scheme}://${nameOf(endpoint)}`;
  return { scheme, endpoint, credentials, name, id: `${name} ${digest(endpoint.key, credentials)}` };
}

/** `host:port` as it stands in a URL. */
export function nameOf({ host, port }: DialTarget): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function isProxyScheme(scheme: string): scheme is ProxyScheme {
  return Object.hasOwn(defaultPorts, scheme);
}

function credentialsOf({ username, password }: URL): ProxyCredentials | undefined {
  if (username === '' && password === '') {
    return undefined;
  }
  const credentials = { username: decoded(username), password: decoded(password) };
  // RFC 7617, section 2: a colon would move the border between the two, and control characters are none of either.
  if (credentials.username === '' || credentials.username.includes(':')) {
    throw invalid('its user is empty or has a colon in it');
  }
  if (Object.values(credentials).some((text) => /\p{Cc}/u.test(text))) {
    throw invalid('its user or password has control characters in it');
  }
  if (Object.values(credentials).some((text) => Buffer.byteLength(text) > maxCredentialBytes)) {
    throw invalid(`its user or password is longer than ${maxCredentialBytes} bytes`);
  }
  return credentials;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The error would quote it.
    throw invalid('its user or password is not percent-encoded UTF-8');
  }
}

/** The scheme is in the name, in front of it. */
function digest(endpointKey: string, credentials: ProxyCredentials | undefined): string {
  const parts = credentials === undefined ? [] : [credentials.username, credentials.password];
  const hash = createHmac('sha256', idKey).update(endpointKey);
  for (const part of parts) {
    hash.update(`${Buffer.byteLength(part)}:${part};`);
  }
  return hash.digest('hex').slice(0, 32);
}

function invalid(reason: string): TransportError {
  return new TransportError('ERR_RH_PROXY_URL_INVALID', `the address of the proxy cannot be used: ${reason}`);
}
