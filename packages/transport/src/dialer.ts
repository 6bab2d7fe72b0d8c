/** How bytes reach an endpoint. TLS is not a dialer's matter: it is laid over what the dialer returns. */

import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

export interface DialTarget {
  /** Host name or IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface DialOptions {
  /** Aborted at the dial limit and when nobody waits any more; the dialer then ends what it has begun. */
  readonly signal: AbortSignal;
}

export interface Dialer {
  /**
   * Equal exactly when the way is equal: it is part of the transport's key, and two dialers with one id share
   * connections.
   */
  readonly id: string;
  /** Resolves with a connected duplex that the caller owns from then on. */
  dial(target: DialTarget, options: DialOptions): Promise<Duplex>;
  /** What is at the bottom of a connection of this dialer, where that is not the connection itself: what RST is sent on. */
  bottomOf?(connection: Duplex): Duplex | undefined;
}

/** TCP keep-alive probes start after this time without data, as client-go's dialer does. */
const keepAliveInitialDelayMs = 30_000;

export const directDialer: Dialer = {
  id: 'direct',
  dial(target, { signal }) {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const socket = connect({
        host: target.host,
        port: target.port,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: keepAliveInitialDelayMs,
      });
      const settle = (): void => {
        socket.off('connect', onConnect);
        signal.removeEventListener('abort', onAbort);
      };
      const onConnect = (): void => {
        settle();
        resolve(socket);
      };
      const onError = (error: Error): void => {
        settle();
        reject(error);
      };
      const onAbort = (): void => {
        settle();
        socket.destroy();
        reject(signal.reason);
      };
      socket.once('connect', onConnect);
      // Stays: an error that comes late (after an abort, or before the new owner listens) must not end the process.
      socket.on('error', onError);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  },
};
