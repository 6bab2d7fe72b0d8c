/**
 * A bearer token among the subprotocols of a WebSocket: browsers cannot send `Authorization` with one, so the kube-apiserver
 * reads it there (k8s.io/apiserver, pkg/authentication/request/websocket/protocol.go). It is read and taken out here: like
 * `Authorization`, it is between the client and the gateway.
 */

import { GatewayError } from '../errors.ts';
import { forEachField } from './field-list.ts';

const prefix = 'base64url.bearer.authorization.k8s.io.';

export interface WebSocketToken {
  readonly fields: readonly string[];
  /** Undefined when there is none. */
  readonly authorization: string | undefined;
}

/** @throws ERR_RH_REQUEST_MALFORMED when it is there twice, alone, or not base64url of UTF-8 */
export function takeWebSocketToken(fields: readonly string[]): WebSocketToken {
  const kept: string[] = [];
  const tokens: string[] = [];
  let others = 0;
  forEachField(fields, (name, value) => {
    if (name.toLowerCase() !== 'sec-websocket-protocol' || !value.includes(prefix)) {
      kept.push(name, value);
      others += name.toLowerCase() === 'sec-websocket-protocol' ? 1 : 0;
      return;
    }
    const items = value.split(',').map((item) => item.trim());
    const rest = items.filter((item) => !item.startsWith(prefix));
    tokens.push(...items.filter((item) => item.startsWith(prefix)));
    if (rest.length > 0) {
      others += 1;
      kept.push(name, rest.join(', '));
    }
  });
  const [token] = tokens;
  if (token === undefined) {
    return { fields, authorization: undefined };
  }
  if (tokens.length > 1) {
    throw new GatewayError('ERR_RH_REQUEST_MALFORMED', 'the request has more than one bearer token');
  }
  if (others === 0) {
    // The server has to choose one, and would send the token back.
    throw new GatewayError(
      'ERR_RH_REQUEST_MALFORMED',
      'a bearer token among the subprotocols needs another subprotocol beside it',
    );
  }
  return { fields: kept, authorization: `Bearer ${decoded(token.slice(prefix.length))}` };
}

function decoded(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  const token = bytes.toString('latin1');
  if (!/^[\w-]+$/.test(text) || bytes.toString('base64url') !== text || !/^[\x21-\x7e]+$/.test(token)) {
    throw new GatewayError(
      'ERR_RH_REQUEST_MALFORMED',
      'the bearer token among the subprotocols is not base64url of one',
    );
  }
  return token;
}
