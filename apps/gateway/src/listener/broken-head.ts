/** What comes in and is no request: too large, too slow, or not HTTP. Answered on the bare socket, then closed. */

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { failureStatus } from '@roundhouse/kubernetes';
import { GatewayError } from '../errors.ts';
import { endSoon } from './end-soon.ts';

export function answerBrokenHead(cause: Error, socket: Duplex): void {
  // Only HTTP can be answered: what failed below it (a TLS handshake, above all one that never ends) would take our answer
  // into a queue that nobody empties, and the connection would stay for ever. And where the client has gone, or an answer
  // is under way, another one in the middle of it would be read as its body.
  if (!isAboutHttp(cause) || !socket.writable || ('_httpMessage' in socket && socket._httpMessage !== null)) {
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
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  endSoon(socket);
}

/** Of Node.js' parser (llhttp), or of its limits on the time of a head. */
function isAboutHttp(cause: Error): boolean {
  const code = codeOf(cause);
  return code.startsWith('HPE_') || code.startsWith('ERR_HTTP_');
}

function codeOf(cause: Error): string {
  return 'code' in cause ? String(cause.code) : '';
}

function errorOf(cause: Error): GatewayError {
  switch (codeOf(cause)) {
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('ERR_RH_HEAD_TOO_LARGE', 'the head of the request is too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError('ERR_RH_REQUEST_TIMEOUT_HEAD', 'the head of the request took too long');
    default:
      // The parser's reason may quote what was sent, so it stays here.
      return new GatewayError('ERR_RH_REQUEST_MALFORMED', 'the request is not valid HTTP/1.1');
  }
}
