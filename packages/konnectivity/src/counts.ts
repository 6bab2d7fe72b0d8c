/** What is counted of the tunnels of one dialer. Each map has the few keys that its type names, so none grows. */

import type { DialFailureReason } from './errors.ts';
import type { PacketName } from './wire/packet.ts';

export type Segment = 'from_client' | 'to_client';
export type PacketLabel = PacketName | 'Unknown';
export type DialResult = 'ok' | DialFailureReason;

/** Seconds; the last bucket is without a bound. A dial over a warm session takes milliseconds, the agent's own limit is 5 s. */
export const dialBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

export interface DialTimes {
  /** How many took no longer than the bucket's bound, not cumulated; one more at the end for those that took longer. */
  readonly buckets: number[];
  seconds: number;
  count: number;
}

export class TunnelCounts {
  readonly packets: Readonly<Record<Segment, Map<PacketLabel, number>>> = {
    from_client: new Map(),
    to_client: new Map(),
  };
  /** By `segment`, gRPC's name of the code, and the type of the packet, joined by a space. */
  readonly streamErrors = new Map<string, number>();
  readonly dialFailures = new Map<DialFailureReason, number>();
  readonly dialTimes = new Map<DialResult, DialTimes>();
  /** Answers to dials that had been given up; the connection of each was closed. */
  lateAnswers = 0;
  /** Packets for connections that are not of their tunnel. They are dropped. */
  foreignPackets = 0;
  stalls = 0;
  /** Closes that were not answered in time. */
  closeTimeouts = 0;
  /** Sessions that were made, that could not be made, and that the other side asked us to leave. */
  sessionsOpened = 0;
  sessionsFailed = 0;
  goaways = 0;
  /** Dials that were sent again, to another proxy-server. */
  redials = 0;
  bytesSent = 0;
  bytesReceived = 0;

  packet(segment: Segment, type: PacketLabel): void {
    const packets = this.packets[segment];
    packets.set(type, (packets.get(type) ?? 0) + 1);
  }

  streamError(segment: Segment, codeName: string, type: PacketLabel): void {
    const key = `${segment} ${codeName} ${type}`;
    this.streamErrors.set(key, (this.streamErrors.get(key) ?? 0) + 1);
  }

  dialed(result: DialResult, seconds: number): void {
    if (result !== 'ok') {
      this.dialFailures.set(result, (this.dialFailures.get(result) ?? 0) + 1);
    }
    const times: DialTimes = this.dialTimes.get(result) ?? {
      buckets: Array.from({ length: dialBuckets.length + 1 }, () => 0),
      seconds: 0,
      count: 0,
    };
    this.dialTimes.set(result, times);
    const index = dialBuckets.findIndex((bound) => seconds <= bound);
    const bucket = index < 0 ? dialBuckets.length : index;
    times.buckets[bucket] = (times.buckets[bucket] ?? 0) + 1;
    times.seconds += seconds;
    times.count += 1;
  }
}
