/** Every bound of the tunnels through one set of proxy-servers: its default, its unit, and the answer when it is reached. */

import { TunnelError } from './errors.ts';

export interface TunnelLimits {
  /** Tunnels in all, those that are being dialed or closed included; one more is refused with ERR_RH_TUNNEL_LIMIT. */
  readonly maxTunnels: number;
  /** The same for one host that is dialed, which is one cluster. */
  readonly maxTunnelsPerTarget: number;
  /** Dials under way to one host; one more is refused with ERR_RH_TUNNEL_LIMIT. An agent that is dead holds no more than these. */
  readonly maxDialsPerTarget: number;
  /** Tunnels on one HTTP/2 session, whatever the proxy-server would take; one more opens another session. */
  readonly maxTunnelsPerSession: number;
  /** From the call to the agent's answer, the set-up of a session included; then ERR_RH_TUNNEL_DIAL_TIMEOUT. The agent's own limit is 5 s. */
  readonly dialTimeoutMs: number;
  /** How long a close is waited for once it was asked for. Nobody waits for it but `close()` of the whole. */
  readonly closeTimeoutMs: number;
  /** After a dial was given up: how long a late answer is waited for, so that its connection is closed, too. */
  readonly lingerTimeoutMs: number;
  /** A tunnel whose reader reads nothing for so long, while half a window or more waits, is cut: ERR_RH_TUNNEL_STALLED. */
  readonly stallTimeoutMs: number;
  /**
   * After `end()` the other side may go on sending; when it is silent for so long the tunnel is closed. The protocol has no half-close
   * that would tell it.
   */
  readonly halfOpenTimeoutMs: number;
  /** A session without tunnels is closed after this time. */
  readonly sessionIdleMs: number;
  /**
   * A session with tunnels is asked for a sign of life so often. Servers made with Go end sessions that ask more often than every
   * 5 minutes. 0: never.
   */
  readonly keepAliveMs: number;
  /** Without the answer for so long a session is lost. */
  readonly keepAliveTimeoutMs: number;
  /** HTTP/2 flow control: what a proxy-server may send on one tunnel beyond what was read. It bounds throughput, and memory. */
  readonly windowBytes: number;
  /** The most that goes into one packet. */
  readonly packetBytes: number;
  /** Addresses of the proxy-servers are looked up again after this time, when a session is needed. */
  readonly resolveMs: number;
  /** The longest time for which a proxy-server that could not be reached is not tried again. */
  readonly maxBackOffMs: number;
}

export const tunnelLimits: TunnelLimits = {
  maxTunnels: 5_000,
  maxTunnelsPerTarget: 1_000,
  maxDialsPerTarget: 250,
  maxTunnelsPerSession: 1_000,
  dialTimeoutMs: 10_000,
  closeTimeoutMs: 10_000,
  lingerTimeoutMs: 5_000,
  stallTimeoutMs: 10_000,
  halfOpenTimeoutMs: 300_000,
  sessionIdleMs: 300_000,
  keepAliveMs: 330_000,
  keepAliveTimeoutMs: 20_000,
  windowBytes: 1_048_576,
  packetBytes: 32_768,
  resolveMs: 30_000,
  maxBackOffMs: 1_000,
};

/** Node.js counts no further than 2^31 milliseconds. About 23 days. */
const longestMs = 2_000_000_000;
/** Where there is more to say than "a whole number": from, to. */
const ranges: Readonly<Record<string, readonly [number, number]>> = {
  maxTunnels: [1, 1_000_000],
  maxTunnelsPerTarget: [1, 1_000_000],
  maxDialsPerTarget: [1, 1_000_000],
  maxTunnelsPerSession: [1, 1_000_000],
  dialTimeoutMs: [1, longestMs],
  closeTimeoutMs: [1, longestMs],
  stallTimeoutMs: [1, longestMs],
  keepAliveTimeoutMs: [1, longestMs],
  windowBytes: [65_535, 64 * 1_048_576],
  // Servers take 4 MiB; what is above 64 KiB only fills the agent's queue.
  packetBytes: [1, 65_536],
};

/** What grpc-go's servers take as a ping too many, with the time that a ping may be on its way. */
const shortestKeepAliveMs = 300_000;

/** @throws ERR_RH_TUNNEL_OPTIONS */
export function limitsOf(overrides: Partial<TunnelLimits>): TunnelLimits {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const [least, most] = ranges[name] ?? [0, longestMs];
    if (!Object.hasOwn(tunnelLimits, name)) {
      throw new TunnelError('ERR_RH_TUNNEL_OPTIONS', `there is no limit ${name}`);
    }
    if (!Number.isSafeInteger(value) || value < least || value > most) {
      throw new TunnelError(
        'ERR_RH_TUNNEL_OPTIONS',
        `${name} is ${String(value)}, not a whole number from ${least} to ${most}`,
      );
    }
  }
  const limits = { ...tunnelLimits, ...Object.fromEntries(given) };
  if (limits.keepAliveMs > 0 && limits.keepAliveMs < shortestKeepAliveMs) {
    throw new TunnelError(
      'ERR_RH_TUNNEL_OPTIONS',
      `keepAliveMs is ${limits.keepAliveMs}; proxy-servers end sessions that ask more often than every ${shortestKeepAliveMs} ms`,
    );
  }
  return limits;
}
