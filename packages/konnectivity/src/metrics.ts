/**
 * What there is and what was counted, as families of Prometheus: the four of the Go client under their names (the doubled `client_client_`
 * is theirs), and ours. Plain data: whoever has a registry puts it there.
 */

import { dialBuckets } from './counts.ts';
import type { TunnelCounts } from './counts.ts';
import type { TunnelSnapshot } from './inspect.ts';

export interface TunnelSample {
  /** Behind the name of the family: `_bucket`, `_sum`, `_count` of a histogram. */
  readonly suffix?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface TunnelMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly TunnelSample[];
}

const goClient = 'konnectivity_network_proxy_client';

export function metricsOf(snapshot: TunnelSnapshot, counts: TunnelCounts): readonly TunnelMetric[] {
  return [...familiesOfGo(snapshot, counts), ...ownFamilies(snapshot, counts)];
}

function familiesOfGo(
  { dialing, open, closing }: TunnelSnapshot,
  { packets, streamErrors, dialFailures }: TunnelCounts,
): readonly TunnelMetric[] {
  const segments = ['from_client', 'to_client'] as const;
  return [
    {
      name: `${goClient}_stream_packets_total`,
      help: 'Packets by direction and type.',
      type: 'counter',
      samples: segments.flatMap((segment) =>
        Array.from(packets[segment], ([type, value]) => ({ labels: { segment, packet_type: type }, value })),
      ),
    },
    {
      name: `${goClient}_stream_errors_total`,
      help: "Streams that ended with an error, by direction, gRPC's code and the type of the packet.",
      type: 'counter',
      samples: Array.from(streamErrors, ([key, value]) => {
        const [segment = '', code = '', type = ''] = key.split(' ');
        return { labels: { segment, code, packet_type: type }, value };
      }),
    },
    {
      name: `${goClient}_dial_failure_total`,
      help: 'Dials that failed, by reason.',
      type: 'counter',
      samples: Array.from(dialFailures, ([reason, value]) => ({ labels: { reason }, value })),
    },
    {
      name: `${goClient}_client_connections`,
      help: 'Tunnels by status.',
      type: 'gauge',
      samples: [
        { labels: { status: 'dialing' }, value: dialing },
        { labels: { status: 'ok' }, value: open },
        { labels: { status: 'closing' }, value: closing },
      ],
    },
  ];
}

function ownFamilies(snapshot: TunnelSnapshot, counts: TunnelCounts): readonly TunnelMetric[] {
  const sessions = snapshot.servers.flatMap((server) => server.sessions);
  const single = (value: number): TunnelMetric['samples'] => [{ labels: {}, value }];
  return [
    {
      name: 'roundhouse_tunnel_sessions',
      help: 'HTTP/2 sessions with proxy-servers, by state.',
      type: 'gauge',
      samples: (['open', 'draining'] as const).map((state) => ({
        labels: { state },
        value: sessions.filter((session) => session.state === state).length,
      })),
    },
    {
      name: 'roundhouse_tunnel_streams',
      help: 'Streams on the sessions with proxy-servers, those of tunnels that are being closed included.',
      type: 'gauge',
      samples: single(sessions.reduce((sum, { tunnels }) => sum + tunnels, 0)),
    },
    {
      name: 'roundhouse_tunnel_session_setups_total',
      help: 'Sessions with proxy-servers that were made, and that could not be made.',
      type: 'counter',
      samples: [
        { labels: { result: 'ok' }, value: counts.sessionsOpened },
        { labels: { result: 'failed' }, value: counts.sessionsFailed },
      ],
    },
    dialTimes(counts),
    {
      name: 'roundhouse_tunnel_buffered_bytes',
      help: 'Received through tunnels and not read yet.',
      type: 'gauge',
      samples: single(snapshot.bufferedBytes),
    },
    {
      name: 'roundhouse_tunnel_bytes_total',
      help: 'Bytes through tunnels, by direction.',
      type: 'counter',
      samples: [
        { labels: { segment: 'from_client' }, value: counts.bytesSent },
        { labels: { segment: 'to_client' }, value: counts.bytesReceived },
      ],
    },
    {
      name: 'roundhouse_tunnel_stall_kills_total',
      help: 'Tunnels that were cut because nobody read from them.',
      type: 'counter',
      samples: single(counts.stalls),
    },
    {
      name: 'roundhouse_tunnel_late_answers_total',
      help: 'Answers to dials that had been given up; their connections were closed.',
      type: 'counter',
      samples: single(counts.lateAnswers),
    },
    {
      name: 'roundhouse_tunnel_foreign_packets_total',
      help: 'Packets for connections that are not of their tunnel. They are dropped.',
      type: 'counter',
      samples: single(counts.foreignPackets),
    },
    {
      name: 'roundhouse_tunnel_close_timeouts_total',
      help: 'Closes that the other side did not answer in time.',
      type: 'counter',
      samples: single(counts.closeTimeouts),
    },
    {
      name: 'roundhouse_tunnel_goaways_total',
      help: 'Sessions that the proxy-server asked to leave.',
      type: 'counter',
      samples: single(counts.goaways),
    },
    {
      name: 'roundhouse_tunnel_redials_total',
      help: 'Dials that were sent again, to another proxy-server.',
      type: 'counter',
      samples: single(counts.redials),
    },
  ];
}

function dialTimes({ dialTimes: times }: TunnelCounts): TunnelMetric {
  return {
    name: 'roundhouse_tunnel_dial_duration_seconds',
    help: "From the call of dial to the agent's answer, by result: ok, or the reason of the failure.",
    type: 'histogram',
    samples: [...times].flatMap(([result, { buckets, seconds, count }]) => {
      let below = 0;
      const cumulated = buckets.map((value, index) => {
        below += value;
        const bound = dialBuckets[index];
        return {
          suffix: '_bucket',
          labels: { result, le: bound === undefined ? '+Inf' : String(bound) },
          value: below,
        };
      });
      return [
        ...cumulated,
        { suffix: '_sum', labels: { result }, value: seconds },
        { suffix: '_count', labels: { result }, value: count },
      ];
    }),
  };
}
