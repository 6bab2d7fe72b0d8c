/** Every bound of a pool, in one place: its default per profile, its unit, and the answer when it is reached. */

import { TransportError } from './errors.ts';

export interface Limits {
  /** Idle connections kept per endpoint; one more is closed instead of kept. */
  readonly maxIdlePerHost: number;
  /** Idle connections kept in the whole pool; the one that is idle longest is closed. */
  readonly maxIdle: number;
  /** An idle connection is closed after this time, whatever the server promises. A shorter promise is honoured. */
  readonly idleTimeoutMs: number;
  /** Connections per endpoint that short requests may use; further requests wait. */
  readonly maxConnectionsPerHost: number;
  /**
   * Requests on one HTTP/2 connection, however many the server allows: a lost connection takes all of them along. One more
   * goes over another connection.
   */
  readonly maxStreamsPerConnection: number;
  /** Long-running streams per endpoint; one more is refused with ERR_RH_STREAM_LIMIT. */
  readonly maxStreamsPerHost: number;
  /** Upgraded connections per endpoint, those that are being asked for included; one more is refused with ERR_RH_UPGRADE_LIMIT. */
  readonly maxUpgradesPerHost: number;
  /** Upgraded connections in the whole pool; one more is refused with ERR_RH_UPGRADE_LIMIT. */
  readonly maxUpgrades: number;
  /** Requests per endpoint that wait for a connection; one more is refused with ERR_RH_QUEUE_FULL. */
  readonly maxWaitingPerHost: number;
  /** The longest wait for a connection; then ERR_RH_QUEUE_TIMEOUT. */
  readonly maxWaitMs: number;
  /** TCP, TLS and tunnel together; then ERR_RH_DIAL_TIMEOUT. */
  readonly dialTimeoutMs: number;
  /**
   * So many dials that failed one after the other, and the endpoint is not dialed for a while: what no present connection can
   * take is refused with ERR_RH_ENDPOINT_DOWN. 0: it is dialed for whoever asks.
   */
  readonly breakerThreshold: number;
  /** How long it is not dialed then; doubled with each further failure. */
  readonly breakerRestMs: number;
  /** The longest time for which an endpoint is not dialed. */
  readonly breakerMaxRestMs: number;
  /**
   * An HTTP/2 connection that carries something and from which nothing was heard for so long is asked for a sign of life (PING);
   * so is one that is used again after such a silence. 0: never.
   */
  readonly pingAfterMs: number;
  /** Without a sign of life for so long after that the connection is given up: ERR_RH_CONNECTION_LOST for what it carries. */
  readonly pingTimeoutMs: number;
  /** A server that agrees to HTTP/2 and then does not speak it is asked over HTTP/1.1 for so long, where there is a choice. */
  readonly http2BackOffMs: number;
  /** A short request from call to last byte of its body; then ERR_RH_REQUEST_TIMEOUT. */
  readonly requestTimeoutMs: number;
  /** After a rotation, a removal or close(): what is still running then is cut with ERR_RH_DRAINED. */
  readonly drainTimeoutMs: number;
  /** After a rotation: an upgraded connection of the former endpoint is cut with ERR_RH_DRAINED. 0: at once. */
  readonly upgradeDrainTimeoutMs: number;
  /**
   * After a rotation: cuts are spread over the last part of both limits, at most a quarter, so that what was cut does not come back
   * in the same moment. 0: all at the limit.
   */
  readonly drainSpreadMs: number;
  /** Unused transports kept in the map; the least recently used is closed. */
  readonly maxIdleTransports: number;
  /** Transports in the map, used ones included; one more is refused with ERR_RH_AT_CAPACITY. */
  readonly maxTransports: number;
  /**
   * Bytes of a response body that are read on behalf of a reader that does not read, so that a small body frees its
   * connection although nobody ever looks at it. 0: back-pressure reaches the server at once.
   */
  readonly readAheadBytes: number;
}

export type ProfileName = 'apiClient' | 'proxy';

/** `apiClient`: a program that calls a few APIs. `proxy`: a server that forwards for many callers. */
export const profiles: Readonly<Record<ProfileName, Limits>> = {
  apiClient: {
    maxIdlePerHost: 2,
    maxIdle: 10,
    idleTimeoutMs: 30_000,
    maxConnectionsPerHost: 2,
    maxStreamsPerConnection: 100,
    maxStreamsPerHost: 20,
    maxUpgradesPerHost: 20,
    maxUpgrades: 100,
    maxWaitingPerHost: 100,
    maxWaitMs: 15_000,
    dialTimeoutMs: 10_000,
    breakerThreshold: 5,
    breakerRestMs: 1_000,
    breakerMaxRestMs: 30_000,
    pingAfterMs: 5_000,
    pingTimeoutMs: 5_000,
    http2BackOffMs: 60_000,
    requestTimeoutMs: 15_000,
    drainTimeoutMs: 10_000,
    upgradeDrainTimeoutMs: 10_000,
    drainSpreadMs: 0,
    maxIdleTransports: 64,
    maxTransports: 256,
    readAheadBytes: 1_048_576,
  },
  proxy: {
    // As many as may work: answers come in bursts, and what is closed in between is dialed again at once. `maxIdle` and
    // `idleTimeoutMs` are what bounds them.
    maxIdlePerHost: 100,
    // Thousands of clusters, asked in turn: where fewer were kept, each request would dial, and parse what a dial needs.
    maxIdle: 4_096,
    idleTimeoutMs: 90_000,
    maxConnectionsPerHost: 100,
    maxStreamsPerConnection: 100,
    maxStreamsPerHost: 1_000,
    maxUpgradesPerHost: 500,
    maxUpgrades: 5_000,
    maxWaitingPerHost: 1_000,
    maxWaitMs: 10_000,
    dialTimeoutMs: 10_000,
    breakerThreshold: 5,
    breakerRestMs: 1_000,
    breakerMaxRestMs: 30_000,
    pingAfterMs: 5_000,
    pingTimeoutMs: 5_000,
    http2BackOffMs: 60_000,
    requestTimeoutMs: 60_000,
    drainTimeoutMs: 60_000,
    upgradeDrainTimeoutMs: 600_000,
    drainSpreadMs: 15_000,
    maxIdleTransports: 4_096,
    maxTransports: 8_192,
    readAheadBytes: 0,
  },
};

/** Node.js counts no further than 2^31 milliseconds, and undici adds to what it is given. About 23 days. */
const longestMs = 2_000_000_000;

/** Those of which there must be one for anything to work. */
const atLeastOne: ReadonlySet<string> = new Set<keyof Limits>([
  'maxConnectionsPerHost',
  'maxStreamsPerConnection',
  'maxIdleTransports',
  'maxTransports',
  'dialTimeoutMs',
  'pingTimeoutMs',
  'breakerRestMs',
  'breakerMaxRestMs',
]);

/** @throws ERR_RH_LIMITS_INVALID */
export function limitsOf(profile: ProfileName, overrides: Partial<Limits>): Limits {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const least = atLeastOne.has(name) ? 1 : 0;
    const most = name.endsWith('Ms') ? longestMs : Number.MAX_SAFE_INTEGER;
    if (!Object.hasOwn(profiles[profile], name)) {
      throw new TransportError('ERR_RH_LIMITS_INVALID', `there is no limit ${name}`);
    }
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw new TransportError(
        'ERR_RH_LIMITS_INVALID',
        `${name} is ${String(value)}, not a whole number from ${least} to ${most}`,
      );
    }
  }
  return { ...profiles[profile], ...Object.fromEntries(given) };
}
