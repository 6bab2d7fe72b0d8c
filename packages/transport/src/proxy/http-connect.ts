/** HTTP CONNECT (RFC 9110, section 9.3.6) over HTTP/1.1: one question, one head, and then the connection is the tunnel. */

import type { Duplex } from 'node:stream';
import type { DialTarget } from '../dialer.ts';
import { TransportError } from '../errors.ts';
import type { HandshakeBytes } from './handshake-bytes.ts';
import { nameOf } from './proxy-address.ts';
import type { ProxyAddress, ProxyCredentials } from './proxy-address.ts';

/** As Node.js bounds heads. */
const maxHeadBytes = 16_384;

/**
 * Only 200 opens the tunnel. Of any other answer the number counts; its text is the proxy's, and goes nowhere.
 *
 * @throws ERR_RH_PROXY_AUTH, ERR_RH_PROXY_REFUSED, and other errors for what is no answer
 */
export async function askConnect(
  socket: Duplex,
  answer: HandshakeBytes,
  target: DialTarget,
  { name, credentials }: ProxyAddress,
): Promise<void> {
  const authority = nameOf(target);
  if (!/^[\x21-\x7e]+$/.test(authority)) {
    throw new Error('the name of the endpoint cannot stand in a request');
  }
  socket.write(
    `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${
      credentials === undefined ? '' : `Proxy-Authorization: ${basic(credentials)}\r\n`
    }\r\n`,
  );
  const status = statusIn(await answer.head(maxHeadBytes, checkStart));
  if (status === 200) {
    return;
  }
  if (status === 407) {
    throw new TransportError(
      'ERR_RH_PROXY_AUTH',
      `the proxy ${name} ${credentials === undefined ? 'asks for credentials' : 'does not take the credentials'} (407)`,
      { data: { status } },
    );
  }
  throw new TransportError(
    'ERR_RH_PROXY_REFUSED',
    `the proxy ${name} made no connection to ${authority}: it answered ${status}`,
    { data: { status } },
  );
}

function basic({ username, password }: ProxyCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

const version = 'HTTP/1.';

/** So that what is no HTTP fails at once, and not at the dial limit. */
function checkStart(start: string): void {
  const beginning = start.slice(0, version.length);
  if (beginning !== version.slice(0, beginning.length)) {
    throw new Error('it does not speak HTTP/1.1');
  }
}

function statusIn(head: string): number {
  const status = /^HTTP\/1\.[01] ([1-9]\d\d)(?: [^\r\n]*)?\r?\n/.exec(head)?.[1];
  if (status === undefined) {
    throw new Error('its answer has no status line of HTTP/1.1');
  }
  return Number(status);
}
