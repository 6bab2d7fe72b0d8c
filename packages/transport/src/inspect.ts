/**
 * What can be seen of a pool: numbers and names, never material, tokens or headers. `inspect()` returns these shapes;
 * what happens in between is published on diagnostics channels, at no cost while nobody subscribes.
 */

import { channel } from 'node:diagnostics_channel';
import type { Connection } from './connection.ts';
import type { BreakerState } from './dial-breaker.ts';
import type { AlpnPolicy, Endpoint } from './endpoint.ts';
import type { Limits } from './limits.ts';
import type { Protocol } from './protocol-choice.ts';
import type { RequestKind } from './request.ts';

/** What a transport is for. */
export interface EndpointFacts {
  /** The first twelve digits of the endpoint's key. */
  readonly id: string;
  readonly origin: string;
  readonly serverName: string;
  readonly insecure: boolean;
  readonly alpn: AlpnPolicy;
  readonly dialer: string;
  /** RFC 3339, as all times here. */
  readonly certExpiresAt: string | undefined;
  readonly caExpiresAt: string | undefined;
}

export interface TransportSnapshot extends EndpointFacts {
  /** What requests of each kind go over; undefined where the next connection will tell. */
  readonly protocols: Readonly<Record<RequestKind, Protocol | undefined>>;
  readonly state: 'open' | 'draining' | 'closed';
  /** Whether it may be dialed. */
  readonly breaker: BreakerState;
  readonly connections: {
    readonly opening: number;
    readonly idle: number;
    readonly active: number;
    readonly draining: number;
  };
  /** HTTP/2 connections that take new requests, and the requests on them; they are among the other counts, too. */
  readonly http2: { readonly connections: number; readonly requests: number };
  /** Short requests and long-running streams under way, those that wait included. */
  readonly requests: number;
  readonly streams: number;
  readonly waiting: number;
  /** Upgraded connections, those that are being asked for included; they are in none of the counts above. */
  readonly upgrades: number;
  readonly leases: number;
  /** Counters since the transport was built. */
  readonly dials: number;
  readonly dialFailures: number;
  readonly resumptions: number;
  readonly requestsTotal: number;
  /** Bytes of HTTP, above TLS, both directions as we see them. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly createdAt: string;
  readonly lastUsedAt: string;
}

export interface IdentifiedTransportSnapshot extends TransportSnapshot {
  /** Names of the identities that point at it, or have left something on it that is under way. */
  readonly identities: readonly string[];
  /** Which generation of each of them it is, in the same order. */
  readonly generations: readonly number[];
}

export interface PoolSnapshot {
  readonly state: 'open' | 'closing' | 'closed';
  readonly limits: Limits;
  readonly transports: readonly IdentifiedTransportSnapshot[];
  readonly totals: {
    /** In the map; `draining` ones have left it. */
    readonly transports: number;
    readonly draining: number;
    readonly identities: number;
    readonly idleConnections: number;
    readonly upgrades: number;
    /** Counters since the pool was made. */
    readonly built: number;
    readonly hits: number;
    readonly evictions: number;
    readonly rotations: number;
    readonly refusedAtCapacity: number;
    /** Servers that agreed to HTTP/2 and did not speak it. */
    readonly http2Refusals: number;
    /** HTTP/2 connections that were given up since a PING was not answered. */
    readonly unansweredPings: number;
    /** Endpoints that were left alone after several dials had failed. */
    readonly breakersOpened: number;
    /** Requests and upgrades that were refused meanwhile. */
    readonly refusedWhileDown: number;
  };
}

export interface ConnectionEvent {
  readonly event: 'opened' | 'closed';
  readonly transport: string;
  readonly origin: string;
  readonly protocol: 'http/1.1' | 'h2';
  readonly requests: number;
}

export interface TransportEvent {
  readonly event: 'opened' | 'draining' | 'closed';
  readonly transport: string;
  readonly origin: string;
}

export function endpointFacts(endpoint: Endpoint): EndpointFacts {
  const { key, origin, serverName, insecure, alpn, dialer, material } = endpoint;
  return {
    id: key.slice(0, 12),
    origin,
    serverName,
    insecure,
    alpn,
    dialer: dialer.id,
    certExpiresAt: material.certExpiresAt?.toISOString(),
    caExpiresAt: material.caExpiresAt?.toISOString(),
  };
}

const connectionChannel = channel('roundhouse:connection');
const transportChannel = channel('roundhouse:transport');

export function publishConnection(
  event: ConnectionEvent['event'],
  endpoint: Endpoint,
  connection: Connection,
): void {
  if (connectionChannel.hasSubscribers) {
    const message: ConnectionEvent = {
      event,
      transport: endpoint.key.slice(0, 12),
      origin: endpoint.origin,
      protocol: connection.protocol,
      requests: connection.requests,
    };
    connectionChannel.publish(message);
  }
}

export function publishTransport(event: TransportEvent['event'], endpoint: Endpoint): void {
  if (transportChannel.hasSubscribers) {
    const message: TransportEvent = { event, transport: endpoint.key.slice(0, 12), origin: endpoint.origin };
    transportChannel.publish(message);
  }
}
