/**
 * Keeps web pages out of a listener on loopback. A page of any site may let the browser send requests to 127.0.0.1: by
 * rebinding its own name to that address (then `Host` is that name), or directly (then `Origin` is that site). This is
 * the check of kubectl proxy (`--accept-hosts`), and `Origin` besides, which kubectl proxy leaves to luck.
 */

import { isIP } from 'node:net';

/** Undefined when the request may come in, else the reason for turning it away. */
export function refuseForeignPage(host: string | undefined, origin: string | undefined): string | undefined {
  if (host === undefined || !isLoopbackHost(hostnameOf(host))) {
    return 'the Host field does not name this machine (localhost, 127.0.0.1 or [::1])';
  }
  if (origin === undefined) {
    return undefined;
  }
  const url = URL.parse(origin);
  const same =
    url !== null && /^https?:$/.test(url.protocol) && url.host.toLowerCase() === host.toLowerCase();
  return same ? undefined : 'the Origin field names another site';
}

/** The same for who is not on this machine, or does not show it. @param address of the other end */
export function refuseFromElsewhere(address: string | undefined): string | undefined {
  // A listener at `::` sees IPv4 in this form.
  return address !== undefined && isLoopbackHost(address.replace(/^::ffff:/i, ''))
    ? undefined
    : 'this request does not come from a loopback address';
}

/** Whether a listener at this address can be reached from this machine only. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase();
  if (isIP(name) === 4) {
    return name.startsWith('127.');
  }
  return name === 'localhost' || name === '::1';
}

/** Without port and brackets; an empty string when it is neither a name nor an address. */
function hostnameOf(host: string): string {
  const bracketed = /^\[([0-9a-f:.]+)\](?::\d{1,5})?$/i.exec(host)?.[1];
  return bracketed ?? /^([^:[\]\s/@]+)(?::\d{1,5})?$/.exec(host)?.[1] ?? '';
}
