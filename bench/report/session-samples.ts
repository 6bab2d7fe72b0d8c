/** Samples of the section about upgrades, and what is shown of each kind. */

import { median } from './median.ts';

interface SampleBase {
  /** Of the proxy, over exactly what was measured. */
  readonly cpuUserMs: number;
  readonly cpuSystemMs: number;
  /** The most memory that the proxy has had; of `slow` since that began. */
  readonly peakKib: number;
}

export interface ExecSample extends SampleBase {
  readonly kind: 'execs';
  readonly sessions: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface OutputSample extends SampleBase {
  readonly kind: 'output';
  readonly streams: number;
  /** Of all together; each one came. */
  readonly bytes: number;
  readonly seconds: number;
}

export interface IdleSample extends SampleBase {
  readonly kind: 'idle';
  readonly sessions: number;
  /** Those that answered at the end. */
  readonly delivered: number;
  /** Warm and without a session. */
  readonly residentBeforeKib: number;
  /** With all sessions open and quiet. */
  readonly residentOpenKib: number;
}

export interface SlowSample extends SampleBase {
  readonly kind: 'slow';
  /** Each one came. */
  readonly bytes: number;
  readonly seconds: number;
  readonly residentBeforeKib: number;
}

export type SessionSample = ExecSample | OutputSample | IdleSample | SlowSample;

export function isSessionSample(sample: { readonly kind: string }): sample is SessionSample {
  return sample.kind in units;
}

const units: Readonly<Record<SessionSample['kind'], string>> = {
  execs: 'µs of CPU a session',
  output: 'µs of CPU a MB',
  idle: 'KiB a session',
  slow: 'MB more at the peak',
};

export function sessionUnit({ kind }: SessionSample): string {
  return units[kind];
}

export function sessionCost(sample: SessionSample): number {
  const cpuUs = (sample.cpuUserMs + sample.cpuSystemMs) * 1000;
  switch (sample.kind) {
    case 'execs':
      return cpuUs / sample.sessions;
    case 'output':
      return cpuUs / (sample.bytes / 1e6);
    case 'idle':
      return (sample.residentOpenKib - sample.residentBeforeKib) / sample.sessions;
    case 'slow':
      return ((sample.peakKib - sample.residentBeforeKib) * 1024) / 1e6;
  }
}

/** What else is shown, beside the cost: a column's head, and its cell from the samples of a row. */
export function sessionColumns(samples: readonly SessionSample[]): readonly (readonly [string, string])[] {
  const execs = samples.filter((sample) => sample.kind === 'execs');
  const output = samples.filter((sample) => sample.kind === 'output' || sample.kind === 'slow');
  const idle = samples.filter((sample) => sample.kind === 'idle');
  const peak = ['peak MiB', mebibytes(Math.max(...samples.map(({ peakKib }) => peakKib)))] as const;
  if (execs.length > 0) {
    return [
      ['sessions/s', median(execs.map((sample) => sample.sessions / sample.seconds)).toFixed(0)],
      ['p50 ms', median(execs.map(({ p50Ms }) => p50Ms)).toFixed(1)],
      ['p99 ms', median(execs.map(({ p99Ms }) => p99Ms)).toFixed(1)],
      peak,
    ];
  }
  if (idle.length > 0) {
    return [
      ['before MiB', mebibytes(median(idle.map(({ residentBeforeKib }) => residentBeforeKib)))],
      ['open MiB', mebibytes(median(idle.map(({ residentOpenKib }) => residentOpenKib)))],
      peak,
      [
        'alive at the end',
        `${Math.min(...idle.map(({ delivered }) => delivered))} of ${idle[0]?.sessions ?? 0}`,
      ],
    ];
  }
  return [['MB/s', median(output.map((sample) => sample.bytes / 1e6 / sample.seconds)).toFixed(1)], peak];
}

function mebibytes(kib: number): string {
  return (kib / 1024).toFixed(0);
}
