/**
 * Which proxy an address is reached through, by the variables that most programs know. Nothing in this package reads the
 * environment by itself: whoever wants that hands it in, and uses the answer.
 */

import { TransportError } from '../errors.ts';
import { NoProxy } from './no-proxy.ts';
import { parseProxy } from './proxy-address.ts';

/** `process.env`, or what is to be taken for it. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

/** The URL of the proxy for a server (`https://host[:port]`), for `proxyDialer`; undefined: reach it directly. */
export type ProxyChoice = (server: string | URL) => string | undefined;

/**
 * HTTPS_PROXY for https servers, HTTP_PROXY for http ones, neither for what NO_PROXY names; upper case before lower case, a
 * proxy without a scheme is an http one, as for Go programs (golang.org/x/net/http/httpproxy).
 *
 * @throws ERR_RH_PROXY_URL_INVALID for a proxy that could never be used
 */
export function proxyFromEnvironment(environment: ProxyEnvironment): ProxyChoice {
  const value = (name: string): string => environment[name] || environment[name.toLowerCase()] || '';
  // A CGI program gets HTTP_PROXY from a header of its caller.
  const isCgi = (environment['REQUEST_METHOD'] ?? '') !== '';
  const proxies: Readonly<Record<string, string | undefined>> = {
    'https:': checked('HTTPS_PROXY', value('HTTPS_PROXY')),
    'http:': isCgi ? undefined : checked('HTTP_PROXY', value('HTTP_PROXY')),
  };
  const noProxy = new NoProxy(value('NO_PROXY'));
  return (server) => {
    const url = new URL(server);
    const proxy = proxies[url.protocol];
    const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    return proxy === undefined || noProxy.matches(url.hostname, port) ? undefined : proxy;
  };
}

function checked(name: string, text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') {
    return undefined;
  }
  const url = trimmed.includes('://') ? trimmed : `http://${trimmed}`;
  try {
    parseProxy({ url });
  } catch (cause) {
    throw new TransportError('ERR_RH_PROXY_URL_INVALID', `${name} is no address of a proxy`, { cause });
  }
  return url;
}
