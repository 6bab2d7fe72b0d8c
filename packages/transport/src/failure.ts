/** The one way in for foreign errors of a request under way: sockets, TLS, undici, HTTP/2. */

import { Readable } from 'node:stream';
import { errors } from 'undici';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import type { RequestBody } from './request.ts';

export function failureOf(
  cause: Error,
  endpoint: Endpoint,
  body: RequestBody | null | undefined,
): TransportError {
  if (cause instanceof TransportError) {
    return cause;
  }
  const { origin } = endpoint;
  if (body instanceof Readable && body.errored === cause) {
    return bodyError(origin, cause);
  }
  if (
    cause instanceof errors.HTTPParserError ||
    cause instanceof errors.HeadersOverflowError ||
    cause instanceof errors.ResponseContentLengthMismatchError
  ) {
    return new TransportError(
      'ERR_RH_RESPONSE_INVALID',
      `${origin} sent what is not HTTP: ${cause.message}`,
      { cause },
    );
  }
  if (
    cause instanceof errors.InvalidArgumentError ||
    cause instanceof errors.NotSupportedError ||
    codeOf(cause).startsWith('ERR_HTTP2_') ||
    codeOf(cause) === 'ERR_INVALID_CHAR' ||
    codeOf(cause) === 'ERR_INVALID_HTTP_TOKEN'
  ) {
    return new TransportError(
      'ERR_RH_REQUEST_INVALID',
      `the request to ${origin} is not valid: ${cause.message}`,
      {
        cause,
      },
    );
  }
  if (
    cause instanceof errors.RequestContentLengthMismatchError ||
    cause instanceof errors.RequestAbortedError
  ) {
    return bodyError(origin, cause);
  }
  // An alert after the handshake: with TLS 1.3 that is how a server refuses a client certificate.
  if (codeOf(cause).startsWith('ERR_SSL_')) {
    return new TransportError('ERR_RH_TLS_FAILED', `${origin} ended TLS: ${cause.message}`, { cause });
  }
  return new TransportError('ERR_RH_CONNECTION_LOST', `the connection to ${origin} ended: ${cause.message}`, {
    cause,
  });
}

export function bodyError(origin: string, cause: Error): TransportError {
  return new TransportError(
    'ERR_RH_REQUEST_BODY',
    `the request body for ${origin} failed: ${cause.message}`,
    { cause },
  );
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
