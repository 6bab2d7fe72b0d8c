/** A request as the listener hands it on: the same over HTTP/1.1 and HTTP/2, and nothing of it changed. */

import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { GatewayError } from '../errors.ts';
import { forEachField, tokensOf } from './field-list.ts';
import { relayedProtocolIn } from './upgrade-protocol.ts';
import { takeWebSocketToken } from './websocket-token.ts';

export interface FrontRequest {
  readonly protocol: 'http/1.1' | 'h2';
  /** GET for a WebSocket over HTTP/2, which is a CONNECT on the wire. */
  readonly method: string;
  /** The request target as it came. */
  readonly target: string;
  /** Without the pseudo fields of HTTP/2. */
  readonly fields: readonly string[];
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
  /** Names that `Connection` has, lower case. */
  readonly connectionNames: readonly string[];
  /** The protocol that the client asks to go on in, as it is spelled; undefined when it asks for none that is relayed. */
  readonly upgrade: string | undefined;
  /** The underlying connection, for its certificate and address. */
  readonly socket: Socket;
  /** Undefined when there is none. */
  readonly body: Readable | undefined;
  /** What the client says of its length. */
  readonly contentLength: number | undefined;
  /** The client waits for 100 before it sends the body. */
  readonly expectsContinue: boolean;
}

/** More fields than this are no request but an attack on whoever goes through them. */
const maxFields = 256;

/** @throws ERR_RH_REQUEST_MALFORMED, ERR_RH_HEAD_TOO_LARGE */
export function readFrontRequest(
  incoming: IncomingMessage | Http2ServerRequest,
  expectsContinue: boolean,
  maxHeadBytes: number,
): FrontRequest {
  const overHttp2 = 'stream' in incoming;
  if (incoming.rawHeaders.length > 2 * maxFields) {
    throw new GatewayError('ERR_RH_HEAD_TOO_LARGE', `the request has more than ${maxFields} header fields`);
  }
  const head = new Head();
  forEachField(incoming.rawHeaders, (name, value) => head.add(name, value));
  head.check();
  // Node.js asks for it as well, but not in each of its versions on a listener that speaks HTTP/2, too.
  if (!overHttp2 && head.host === undefined && incoming.httpVersion === '1.1') {
    throw new GatewayError('ERR_RH_REQUEST_MALFORMED', 'the request has no Host field');
  }
  // HTTP/1.1's parser has counted already; over HTTP/2 the setting is only advice to the client (RFC 9113, section 6.5.2).
  if (head.bytes > maxHeadBytes) {
    throw new GatewayError(
      'ERR_RH_HEAD_TOO_LARGE',
      `the head of the request has more than ${maxHeadBytes} bytes`,
    );
  }
  const { contentLength } = head;
  const upgrade = upgradeOf(incoming, head);
  const connected = overHttp2 && upgrade !== undefined;
  const hasBody =
    overHttp2 && !connected ? !incoming.stream.endAfterHeaders : head.chunked || (contentLength ?? 0) > 0;
  if (upgrade !== undefined && hasBody) {
    throw new GatewayError('ERR_RH_REQUEST_MALFORMED', 'a request for an upgrade has no body');
  }
  // Also where nobody reads it: it is between the client and the gateway.
  const { fields, authorization } = head.hasSubprotocols
    ? takeWebSocketToken(head.fields)
    : { fields: head.fields, authorization: undefined };
  return {
    protocol: overHttp2 ? 'h2' : 'http/1.1',
    method: connected ? 'GET' : (incoming.method ?? 'GET'),
    target: incoming.url ?? '',
    fields,
    host: head.host ?? head.authority,
    origin: head.origin,
    authorization: head.authorization ?? (upgrade === undefined ? undefined : authorization),
    connectionNames: head.connectionNames,
    upgrade,
    socket: incoming.socket,
    body: hasBody ? incoming : undefined,
    contentLength,
    expectsContinue,
  };
}

/** What the client asks for and may be given. */
function upgradeOf(incoming: IncomingMessage | Http2ServerRequest, head: Head): string | undefined {
  if ('stream' in incoming) {
    // The one protocol that is defined for it (RFC 8441, section 5).
    return head.connectProtocol === 'websocket' ? head.connectProtocol : undefined;
  }
  // From a client of HTTP/1.0 it means nothing (RFC 9110, section 7.8).
  return incoming.httpVersion === '1.1' ? head.upgrade : undefined;
}

/** One pass over the fields: keeps those that the listener needs, and refuses what is there twice and must not be. */
class Head {
  readonly fields: string[] = [];
  readonly connectionNames: string[] = [];
  host: string | undefined;
  authority: string | undefined;
  origin: string | undefined;
  authorization: string | undefined;
  /** Of an extended CONNECT (RFC 8441). */
  connectProtocol: string | undefined;
  contentLength: number | undefined;
  chunked = false;
  hasSubprotocols = false;
  bytes = 0;
  #upgrade: string | undefined;

  /** An offer counts only where `Connection` says that it is meant for us (RFC 9110, section 7.8). */
  get upgrade(): string | undefined {
    return this.connectionNames.includes('upgrade') ? relayedProtocolIn(this.#upgrade) : undefined;
  }

  add(name: string, value: string): void {
    this.bytes += name.length + value.length;
    if (name.startsWith(':')) {
      this.authority = name === ':authority' ? value : this.authority;
      this.connectProtocol = name === ':protocol' ? value : this.connectProtocol;
      return;
    }
    this.fields.push(name, value);
    switch (name.toLowerCase()) {
      case 'host':
        this.host = once('Host', this.host, value);
        break;
      case 'origin':
        this.origin = once('Origin', this.origin, value);
        break;
      case 'authorization':
        this.authorization = once('Authorization', this.authorization, value);
        break;
      case 'connection':
        this.connectionNames.push(...tokensOf(value));
        break;
      case 'upgrade':
        this.#upgrade = this.#upgrade === undefined ? value : `${this.#upgrade},${value}`;
        break;
      case 'content-length':
        this.contentLength = Number(value);
        break;
      case 'transfer-encoding':
        this.chunked = true;
        break;
      case 'sec-websocket-protocol':
        this.hasSubprotocols = true;
        break;
      default:
    }
  }

  check(): void {
    if (this.host !== undefined && this.authority !== undefined && this.host !== this.authority) {
      throw new GatewayError('ERR_RH_REQUEST_MALFORMED', 'Host and :authority name different hosts');
    }
  }
}

function once(name: string, present: string | undefined, value: string): string {
  if (present !== undefined) {
    throw new GatewayError('ERR_RH_REQUEST_MALFORMED', `the request has more than one ${name} field`);
  }
  return value;
}
