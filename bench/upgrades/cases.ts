/** What is measured of upgraded sessions. The limits are those that the project has set itself. */

import type { SessionProtocol } from './frames.ts';

interface CaseBase {
  readonly name: string;
  /** For people. */
  readonly title: string;
  readonly protocol: SessionProtocol;
}

export interface ExecCase extends CaseBase {
  readonly kind: 'execs';
  /** At a time. */
  readonly lanes: number;
}

export interface OutputCase extends CaseBase {
  readonly kind: 'output';
  readonly streams: number;
  /** Of all together. */
  readonly bytes: number;
}

export interface IdleCase extends CaseBase {
  readonly kind: 'idle';
  readonly sessions: number;
  /** `gateway` at most that of kubectl proxy. */
  readonly ratio: number;
}

export interface SlowCase extends CaseBase {
  readonly kind: 'slow';
  readonly bytes: number;
  readonly bytesPerSecond: number;
  readonly mostMb: number;
}

export type UpgradeCase = ExecCase | OutputCase | IdleCase | SlowCase;

const over: Readonly<Record<string, SessionProtocol>> = { spdy: 'SPDY/3.1', websocket: 'websocket' };

export const upgradeCases: readonly UpgradeCase[] = Object.entries(over).flatMap(([short, protocol]) => [
  {
    kind: 'execs',
    name: `execs-${short}`,
    title: `Short execs over ${protocol}, 8 at a time`,
    protocol,
    lanes: 8,
  },
  ...[1, 8].map((streams) => ({
    kind: 'output' as const,
    name: `output-${streams}-${short}`,
    title: `Output of ${streams === 1 ? 'one session' : `${streams} sessions`} over ${protocol}`,
    protocol,
    streams,
    bytes: 256_000_000,
  })),
  {
    kind: 'idle',
    name: `idle-${short}`,
    title: `500 idle execs over ${protocol}`,
    protocol,
    sessions: 500,
    ratio: 1.2,
  },
  {
    kind: 'slow',
    name: `slow-${short}`,
    title: `200 MB through exec over ${protocol} to a reader of 5 MB/s`,
    protocol,
    bytes: 200_000_000,
    bytesPerSecond: 5_000_000,
    mostMb: 32,
  },
]);
