/**
 * Two connections that have become one: bytes go both ways as they come, whatever they mean. The end of one direction is passed
 * on as that, and the other one goes on; what breaks on one side is broken off on the other, and never looks like a good end.
 * It owns both sides: when it is over, neither is open.
 */

import { RoundhouseError } from '@roundhouse/transport';
import { GatewayError } from '../errors.ts';
import type { SessionSide } from '../listener/upgrade-reply.ts';
import { SessionLane } from './session-lane.ts';

export interface SessionLimits {
  /** A side that takes nothing of what waits for it is given up after this time. */
  readonly stallTimeoutMs: number;
  /** When one side has ended and nothing comes from the other one, both are given up after this time. */
  readonly halfClosedTimeoutMs: number;
}

export class SessionRelay {
  readonly #client: SessionSide;
  readonly #cluster: SessionSide;
  readonly #limits: SessionLimits;
  readonly #fromClient: SessionLane;
  readonly #fromCluster: SessionLane;
  readonly #over = Promise.withResolvers<RoundhouseError | undefined>();
  #bytesIn = 0;
  #bytesOut = 0;
  #error: RoundhouseError | undefined;
  #halfClosed: NodeJS.Timeout | undefined;

  /** @param sent is told of each piece that goes to the client, in bytes */
  constructor(
    client: SessionSide,
    cluster: SessionSide,
    limits: SessionLimits,
    sent: (bytes: number) => void,
  ) {
    this.#client = client;
    this.#cluster = cluster;
    this.#limits = limits;
    this.#fromClient = new SessionLane(client.socket, cluster.socket, limits.stallTimeoutMs, {
      passed: (bytes) => {
        this.#bytesIn += bytes;
        this.#halfClosed?.refresh();
      },
      ended: () => this.#laneEnded(),
      stalled: () => this.stop(new GatewayError('ERR_RH_SESSION_STALLED', this.#stallText('cluster'))),
    });
    this.#fromCluster = new SessionLane(cluster.socket, client.socket, limits.stallTimeoutMs, {
      passed: (bytes) => {
        this.#bytesOut += bytes;
        sent(bytes);
        this.#halfClosed?.refresh();
      },
      ended: () => this.#laneEnded(),
      stalled: () => this.stop(new GatewayError('ERR_RH_SESSION_STALLED', this.#stallText('client'))),
    });
  }

  /** From the client to the cluster. */
  get bytesIn(): number {
    return this.#bytesIn;
  }

  get bytesOut(): number {
    return this.#bytesOut;
  }

  /** Resolves when both sides are closed: with nothing after a good end, else with what broke it. Never rejects. */
  get over(): Promise<RoundhouseError | undefined> {
    return this.#over.promise;
  }

  start(): void {
    this.#client.socket.once('close', () => this.#closed(this.#client));
    this.#cluster.socket.once('close', () => this.#closed(this.#cluster));
    this.#fromClient.start();
    this.#fromCluster.start();
    // Either may have closed while the other one was made ready, and says so no more.
    for (const side of [this.#client, this.#cluster]) {
      if (side.socket.closed) {
        this.#closed(side);
      }
    }
  }

  /** Breaks both sides off. */
  stop(error: RoundhouseError): void {
    this.#error ??= error;
    this.#client.reset();
    this.#cluster.reset();
  }

  #laneEnded(): void {
    if (this.#fromClient.ended && this.#fromCluster.ended) {
      clearTimeout(this.#halfClosed);
      return;
    }
    const { halfClosedTimeoutMs } = this.#limits;
    this.#halfClosed = setTimeout(() => {
      const seconds = halfClosedTimeoutMs / 1000;
      this.stop(
        new GatewayError(
          'ERR_RH_SESSION_STALLED',
          `one side has ended, and nothing came from the other one for ${seconds} s`,
        ),
      );
    }, halfClosedTimeoutMs);
  }

  #closed(side: SessionSide): void {
    const [other, sent, received] =
      side === this.#client
        ? [this.#cluster, this.#fromClient, this.#fromCluster]
        : [this.#client, this.#fromCluster, this.#fromClient];
    if (!sent.ended || !received.ended) {
      this.#error ??= this.#breakOf(side);
      other.reset();
    }
    if (other.socket.closed) {
      clearTimeout(this.#halfClosed);
      this.#fromClient.stop();
      this.#fromCluster.stop();
      this.#over.resolve(this.#error);
    }
  }

  #breakOf(side: SessionSide): RoundhouseError {
    const { errored } = side.socket;
    if (RoundhouseError.is(errored)) {
      return errored;
    }
    return side === this.#client
      ? new GatewayError('ERR_RH_CLIENT_GONE', 'the client broke the session off')
      : new GatewayError('ERR_RH_SESSION_BROKEN', 'the cluster broke the session off', { cause: errored });
  }

  #stallText(side: 'client' | 'cluster'): string {
    return `the ${side} took nothing for ${this.#limits.stallTimeoutMs / 1000} s of what waits for it`;
  }
}
