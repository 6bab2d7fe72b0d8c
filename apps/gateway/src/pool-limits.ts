/** The limits of the gateway, as its pool has them. */

import type { Limits } from '@roundhouse/transport';
import type { GatewayOptions } from './options.ts';

export function poolLimits({ limits }: GatewayOptions): Partial<Limits> {
  return {
    maxIdlePerHost: limits.maxIdlePerCluster,
    maxIdle: limits.maxIdle,
    idleTimeoutMs: limits.idleTimeoutMs,
    maxConnectionsPerHost: limits.maxConnectionsPerCluster,
    maxStreamsPerHost: limits.maxStreamsPerCluster,
    maxStreamsPerConnection: limits.maxStreamsPerConnection,
    pingAfterMs: limits.pingAfterMs,
    pingTimeoutMs: limits.pingTimeoutMs,
    http2BackOffMs: limits.http2BackOffMs,
    maxUpgradesPerHost: limits.maxSessionsPerCluster,
    maxUpgrades: limits.maxSessions,
    maxWaitingPerHost: limits.maxWaitingPerCluster,
    maxWaitMs: limits.maxWaitMs,
    dialTimeoutMs: limits.dialTimeoutMs,
    breakerThreshold: limits.breakerThreshold,
    breakerRestMs: limits.breakerRestMs,
    breakerMaxRestMs: limits.breakerMaxRestMs,
    requestTimeoutMs: limits.requestTimeoutMs,
    drainTimeoutMs: limits.drainTimeoutMs,
    upgradeDrainTimeoutMs: limits.sessionDrainTimeoutMs,
    drainSpreadMs: limits.drainSpreadMs,
    maxIdleTransports: limits.maxIdleTransports,
    maxTransports: limits.maxTransports,
  };
}
