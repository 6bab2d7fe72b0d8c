/** SOCKS5 (RFC 1928): methods, user and password where asked for (RFC 1929), CONNECT. */

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DialTarget } from '../dialer.ts';
import { TransportError } from '../errors.ts';
import type { HandshakeBytes } from './handshake-bytes.ts';
import { nameOf } from './proxy-address.ts';
import type { ProxyAddress, ProxyCredentials } from './proxy-address.ts';

const version = 5;
const authenticationVersion = 1;
const methods = { none: 0x00, password: 0x02, refused: 0xff } as const;
const connectCommand = 1;
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const;
const maxNameBytes = 255;

/** RFC 1928, section 6. */
const replies: Readonly<Record<number, string>> = {
  1: 'it failed',
  2: 'its rules do not allow it',
  3: 'the network is unreachable',
  4: 'the host is unreachable, or its name is not known',
  5: 'the connection was refused',
  6: 'its time to live expired',
  7: 'it does not know the command',
  8: 'it does not know this type of address',
};

/** For a proxy that is not to resolve names: the first address of the name. */
export async function resolvedHere(target: DialTarget): Promise<DialTarget> {
  if (isIP(target.host) !== 0) {
    return target;
  }
  const { address } = await lookup(target.host);
  return { host: address, port: target.port };
}

/** @throws ERR_RH_PROXY_AUTH, ERR_RH_PROXY_REFUSED, and other errors for what is no answer */
export async function askSocks5(
  socket: Duplex,
  answer: HandshakeBytes,
  target: DialTarget,
  proxy: ProxyAddress,
): Promise<void> {
  const request = requestFor(target);
  await authenticate(socket, answer, proxy);
  socket.write(request);
  const [answered, reply = 0, , type = 0] = await answer.exactly(4);
  if (answered !== version) {
    throw notSocks5();
  }
  if (reply !== 0) {
    const reason = replies[reply] ?? 'for a reason that is none of SOCKS5';
    throw new TransportError(
      'ERR_RH_PROXY_REFUSED',
      `the proxy ${proxy.name} made no connection to ${nameOf(target)}: ${reason} (${reply})`,
      { data: { reply } },
    );
  }
  // The address that the proxy connects from says nothing to us, but it stands in front of the endpoint's bytes.
  await answer.exactly((await addressLength(answer, type)) + 2);
}

async function authenticate(
  socket: Duplex,
  answer: HandshakeBytes,
  { name, credentials }: ProxyAddress,
): Promise<void> {
  const offered = credentials === undefined ? [methods.none] : [methods.none, methods.password];
  socket.write(Buffer.from([version, offered.length, ...offered]));
  const [answered, method] = await answer.exactly(2);
  if (answered !== version) {
    throw notSocks5();
  }
  if (method === methods.none) {
    return;
  }
  if (method === methods.password && credentials !== undefined) {
    socket.write(passwordMessage(credentials));
    // Some proxies answer with another version here; the status is what counts (as for golang.org/x/net).
    const [, status] = await answer.exactly(2);
    if (status === 0) {
      return;
    }
    throw new TransportError('ERR_RH_PROXY_AUTH', `the proxy ${name} does not take the credentials`);
  }
  if (method === methods.refused || method === methods.password) {
    throw new TransportError(
      'ERR_RH_PROXY_AUTH',
      credentials === undefined
        ? `the proxy ${name} asks for credentials`
        : `the proxy ${name} takes neither user and password nor nobody`,
    );
  }
  throw new Error('it chose a method of authentication that was not offered');
}

/** Their lengths were checked with the URL. */
function passwordMessage({ username, password }: ProxyCredentials): Buffer {
  const [user, secret] = [Buffer.from(username), Buffer.from(password)];
  return Buffer.concat([
    Buffer.from([authenticationVersion, user.length]),
    user,
    Buffer.from([secret.length]),
    secret,
  ]);
}

function requestFor({ host, port }: DialTarget): Buffer {
  const end = Buffer.alloc(2);
  end.writeUInt16BE(port);
  return Buffer.concat([Buffer.from([version, connectCommand, 0]), addressOf(host), end]);
}

function addressOf(host: string): Buffer {
  if (isIP(host) === 4) {
    return Buffer.from([addressTypes.ipv4, ...host.split('.').map(Number)]);
  }
  if (isIP(host) === 6) {
    return Buffer.concat([Buffer.from([addressTypes.ipv6]), ipv6Bytes(host)]);
  }
  const name = Buffer.from(host);
  if (name.length === 0 || name.length > maxNameBytes) {
    throw new Error(`the name of the endpoint is empty or longer than ${maxNameBytes} bytes`);
  }
  return Buffer.concat([Buffer.from([addressTypes.name, name.length]), name]);
}

/** In the spelling of URLs: hexadecimal groups, at most one `::`. */
function ipv6Bytes(host: string): Buffer {
  const spelling = URL.parse(`http://[${host}]`)?.hostname.slice(1, -1);
  if (spelling === undefined) {
    throw new Error('the address of the endpoint has a zone, which means nothing to a proxy');
  }
  const [left = [], right = []] = spelling
    .split('::')
    .map((groups) => groups.split(':').filter((group) => group !== ''));
  const bytes = Buffer.alloc(16);
  for (const [index, group] of left.entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), index * 2);
  }
  for (const [index, group] of right.entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), 16 - (right.length - index) * 2);
  }
  return bytes;
}

async function addressLength(answer: HandshakeBytes, type: number): Promise<number> {
  switch (type) {
    case addressTypes.ipv4:
      return 4;
    case addressTypes.ipv6:
      return 16;
    case addressTypes.name:
      return (await answer.exactly(1)).readUInt8(0);
    default:
      throw new Error('its answer has an address of an unknown type');
  }
}

function notSocks5(): Error {
  return new Error('it does not speak SOCKS5');
}
