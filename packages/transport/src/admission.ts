/** What a transport refuses since it has enough already, and in which words. */

import { TransportError } from './errors.ts';
import type { Limits } from './limits.ts';
import type { RequestKind } from './request.ts';

export interface Load {
  /** Long-running streams under way, those that wait included. */
  readonly streams: number;
  /** Short requests that wait for a connection of others; for the rest a dial of their own is under way. */
  readonly waiting: number;
}

/** Undefined: one more of this kind is taken. */
export function refusalOf(
  kind: RequestKind,
  { streams, waiting }: Load,
  { maxStreamsPerHost, maxWaitingPerHost }: Limits,
  origin: string,
): TransportError | undefined {
  if (kind === 'stream') {
    return streams < maxStreamsPerHost
      ? undefined
      : new TransportError(
          'ERR_RH_STREAM_LIMIT',
          `${maxStreamsPerHost} streams to ${origin} are open already`,
        );
  }
  return waiting < maxWaitingPerHost
    ? undefined
    : new TransportError(
        'ERR_RH_QUEUE_FULL',
        `${maxWaitingPerHost} requests wait for a connection to ${origin} already`,
      );
}

/** @param where for messages: the endpoint, or the whole pool */
export function upgradeRefusalOf(open: number, most: number, where: string): TransportError | undefined {
  return open < most
    ? undefined
    : new TransportError('ERR_RH_UPGRADE_LIMIT', `${most} upgraded connections ${where} are open already`);
}

export function queueTimeout(origin: string, ms: number): TransportError {
  return new TransportError('ERR_RH_QUEUE_TIMEOUT', `no connection to ${origin} was free within ${ms} ms`);
}
