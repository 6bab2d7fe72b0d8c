/** A failure as the client is told of it: a Kubernetes `Status` with the code of the error, or nothing when it is gone. */

import { failureStatus } from '@roundhouse/kubernetes';
import type { Status } from '@roundhouse/kubernetes';
import { RoundhouseError } from '@roundhouse/transport';
import { GatewayError } from '../errors.ts';
import type { Reply } from '../listener/reply.ts';

/** The only way in for errors that are not ours: a bug, whose message may hold anything. */
export function asRoundhouseError(error: unknown): RoundhouseError {
  // What ended the request body is ours, and says more than that it ended.
  if (RoundhouseError.is(error) && error.code === 'ERR_RH_REQUEST_BODY' && RoundhouseError.is(error.cause)) {
    return error.cause;
  }
  return RoundhouseError.is(error)
    ? error
    : new GatewayError('ERR_RH_INTERNAL', 'the gateway failed; its log has the details', { cause: error });
}

export function statusOf(error: RoundhouseError): Status {
  return failureStatus({
    code: httpStatusOf(error),
    // In the words that clients of a kube-apiserver know, where there are such; the code is among the causes.
    message: textIn(error.data, 'statusMessage') ?? error.message,
    cause: { reason: error.code },
    details: stringsIn(error.data['statusDetails']),
    retryAfterSeconds: retryAfterSecondsOf(error),
  });
}

/** Only before the answer has started. */
export function answerFailure(reply: Reply, error: RoundhouseError): void {
  if (reply.closed) {
    return;
  }
  if (endsConnection.has(error.code)) {
    reply.endConnection();
  }
  const status = statusOf(error);
  const body = Buffer.from(`${JSON.stringify(status)}\n`);
  const retryAfter = status.details.retryAfterSeconds;
  reply.start(
    status.code,
    [
      'Content-Type',
      'application/json',
      'Content-Length',
      String(body.length),
      'Cache-Control',
      'no-cache, private',
      'X-Content-Type-Options',
      'nosniff',
      ...(retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]),
      ...(status.code === 401 ? ['WWW-Authenticate', 'Bearer realm="roundhouse"'] : []),
      ...(status.code === 405 ? ['Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'] : []),
    ],
    false,
  );
  reply.write(body);
  reply.end();
}

/** Where the two sides may not agree on what the next bytes are. */
const endsConnection: ReadonlySet<string> = new Set(['ERR_RH_REQUEST_MALFORMED', 'ERR_RH_HEAD_TOO_LARGE']);

/** 499 is for logs; a client that is still there after all reads it as a failure of ours. */
function httpStatusOf({ httpStatus, code }: RoundhouseError): number {
  if (httpStatus !== 499) {
    return httpStatus;
  }
  return code === 'ERR_RH_ABORTED' ? 503 : 500;
}

/**
 * A limit passes by itself; a configuration that cannot be used does not, and a client that is told to come back (client-go
 * does, ten times) would only find out later.
 */
function retryAfterSecondsOf({ httpStatus, retry, code, data }: RoundhouseError): number | undefined {
  if (httpStatus !== 503 || retry === 'never' || code === 'ERR_RH_CLUSTER_REFUSED') {
    return undefined;
  }
  const { retryAfterMs } = data;
  return typeof retryAfterMs === 'number' ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : 1;
}

function textIn(data: RoundhouseError['data'], key: string): string | undefined {
  const value = data[key];
  return typeof value === 'string' ? value : undefined;
}

function stringsIn(value: unknown): Readonly<Record<string, string>> {
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === 'string' && text !== ''))
    : {};
}
