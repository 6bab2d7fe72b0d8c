/** From samples to the few numbers that are shown. */

import { median } from './median.ts';
import type { CaseResult, Row, Sample } from './results.ts';
import { isSessionSample, sessionCost, sessionUnit } from './session-samples.ts';

/** What a case is about, in the unit of `costUnit`: CPU a request, or memory a stream, for instance. Less is better. */
export function costOf(sample: Sample): number {
  if (isSessionSample(sample)) return sessionCost(sample);
  return sample.kind === 'requests'
    ? ((sample.cpuUserMs + sample.cpuSystemMs) * 1000) / sample.requests
    : (sample.residentOpenKib - sample.residentBeforeKib) / sample.streams;
}

export function costUnit(sample: Sample): string {
  if (isSessionSample(sample)) return sessionUnit(sample);
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
    // What a slow reader adds may be next to nothing: no number says how often that is.
    return other === undefined || other.kind === 'slow' ? [] : [costOf(sample) / costOf(other)];
  });
  return ratios.length === 0
    ? undefined
    : { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}

export function rowOf(result: CaseResult, contestant: string): Row | undefined {
  return result.rows.find((row) => row.contestant === contestant);
}

/** What is held against a limit: the worst round. Undefined when that contestant did not take part. */
export function limitedCost(result: CaseResult, contestant: string): number | undefined {
  const costs = rowOf(result, contestant)?.samples.map(costOf) ?? [];
  return costs.length === 0 ? undefined : Math.max(...costs);
}
