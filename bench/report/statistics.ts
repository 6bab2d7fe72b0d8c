/** From samples to the few numbers that are shown. Medians, since a busy neighbour spoils a round now and then. */

import type { CaseResult, Row, Sample } from './results.ts';

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** What a case is about, in the unit of `costUnit`: CPU a request, or memory a stream. Less is better. */
export function costOf(sample: Sample): number {
  return sample.kind === 'requests'
    ? ((sample.cpuUserMs + sample.cpuSystemMs) * 1000) / sample.requests
    : (sample.residentOpenKib - sample.residentBeforeKib) / sample.streams;
}

export function costUnit(sample: Sample): string {
  return sample.kind === 'requests' ? 'µs of CPU a request' : 'KiB a stream';
}

export interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Round by round, since a machine may be fast in one round and slow in the next; undefined when one did not take part. */
export function ratioOf(result: CaseResult, contestant: string, to: string): Ratio | undefined {
  const mine = rowOf(result, contestant)?.samples ?? [];
  const theirs = rowOf(result, to)?.samples ?? [];
  const ratios = mine.flatMap((sample, round) => {
    const other = theirs[round];
    return other === undefined ? [] : [costOf(sample) / costOf(other)];
  });
  return ratios.length === 0
    ? undefined
    : { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}

export function rowOf(result: CaseResult, contestant: string): Row | undefined {
  return result.rows.find((row) => row.contestant === contestant);
}
