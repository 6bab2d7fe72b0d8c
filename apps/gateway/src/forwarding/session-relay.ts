/**
 * Two connections that have become one: bytes go both ways as they come, whatever they mean. The end of one direction is passed
 * on as that, and the other one goes on; what breaks on one side is broken off on the other, and never looks like a good end.
 * It owns both sides: when it is over, neither is open.
 */

import { RoundhouseError } from '@roundhouse/transport';
import { GatewayError } from '../errors.ts';
import type { SessionSide } from '../listener/upgrade-reply.ts';
import { SessionLane } from './session-lane.ts';
import { SessionLiveness } from './session-liveness.ts';

export interface SessionLimits {
  /** A side that takes nothing of what waits for it, or answers no ping, is given up after this time. */
  readonly stallTimeoutMs: number;
  /** When one side has ended and nothing comes from the other one, both are given up after this time. */
  readonly halfClosedTimeoutMs: number;
}

export interface SessionBytes {
  /** From the client. */
  readonly received: (bytes: number) => void;
  /** To the client. */
  readonly sent: (bytes: number) => void;
}

export class SessionRelay {
  readonly #client: SessionSide;
  readonly #cluster: SessionSide;
  readonly #limits: SessionLimits;
  readonly #fromClient: SessionLane;
  readonly #fromCluster: SessionLane;
  readonly #clientLives: SessionLiveness;
  readonly #clusterLives: SessionLiveness;
  readonly #over = Promise.withResolvers<RoundhouseError | undefined>();
  #bytesIn = 0;
  #bytesOut = 0;
  #error: RoundhouseError | undefined;
  #halfClosed: NodeJS.Timeout | undefined;

  /**
   * @param protocol that both sides speak now
   * @param passing is told of each piece
   */
  constructor(
    client: SessionSide,
    cluster: SessionSide,
    protocol: string,
    limits: SessionLimits,
    passing: SessionBytes,
  ) {
    this.#client = client;
    this.#cluster = cluster;
    this.#limits = limits;
    const { stallTimeoutMs } = limits;
    this.#clientLives = new SessionLiveness(protocol, stallTimeoutMs, () =>
      this.#stalled('the client', 'did not answer a ping'),
    );
    this.#clusterLives = new SessionLiveness(protocol, stallTimeoutMs, () =>
      this.#stalled('the cluster', 'did not answer a ping'),
    );
    this.#fromClient = new SessionLane(client, cluster.socket, stallTimeoutMs, {
      passed: (chunk) => {
        this.#bytesIn += chunk.length;
        passing.received(chunk.length);
        this.#passed(chunk, this.#clientLives, this.#clusterLives);
      },
      ended: () => this.#laneEnded(),
      stalled: () => this.#stalled('the cluster', 'took nothing of what waits for it'),
    });
    this.#fromCluster = new SessionLane(cluster, client.socket, stallTimeoutMs, {
      passed: (chunk) => {
        this.#bytesOut += chunk.length;
        passing.sent(chunk.length);
        this.#passed(chunk, this.#clusterLives, this.#clientLives);
      },
      ended: () => this.#laneEnded(),
      stalled: () => this.#stalled('the client', 'took nothing of what waits for it'),
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

  #passed(chunk: Buffer, from: SessionLiveness, to: SessionLiveness): void {
    from.heard();
    to.sent(chunk);
    this.#halfClosed?.refresh();
  }

  #stalled(side: string, what: string): void {
    const seconds = this.#limits.stallTimeoutMs / 1000;
    this.stop(new GatewayError('ERR_RH_SESSION_STALLED', `${side} ${what} for ${seconds} s`));
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
      this.#clientLives.heard();
      this.#clusterLives.heard();
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
}
