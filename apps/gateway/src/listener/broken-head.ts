/** What comes in and is no request: too large, too slow, or not HTTP. Answered on the bare socket, then closed. */

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { failureStatus } from '@roundhouse/kubernetes';
import { GatewayError } from '../errors.ts';

export function answerBrokenHead(cause: Error, socket: Duplex): void {
  // The client has gone, or an answer is under way: another one in the middle of it would be read as its body.
  if (!socket.writable || ('_httpMessage' in socket && socket._httpMessage !== null)) {
    socket.destroy();
    return;
  }
  const { httpStatus, code, message } = errorOf(cause);
  const body = `${JSON.stringify(failureStatus({ code: httpStatus, message, cause: { reason: code } }))}\n`;
  const head = [
    `HTTP/1.1 ${httpStatus} ${STATUS_CODES[httpStatus] ?? ''}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function errorOf(cause: Error): GatewayError {
  const code = 'code' in cause ? cause.code : undefined;
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('ERR_RH_HEAD_TOO_LARGE', 'the head of the request is too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('ERR_RH_REQUEST_TIMEOUT_HEAD', 'the head of the request took too long');
    default:
      // The parser's reason may quote what was sent, so it stays here.
      return new GatewayError('ERR_RH_REQUEST_MALFORMED', 'the request is not valid HTTP/1.1');
  }
}
