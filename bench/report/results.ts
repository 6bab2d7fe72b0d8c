/** What a run leaves behind: every sample as it was measured, and what one must know to measure it again. */

import { readFile } from 'node:fs/promises';
import type { SessionSample } from './session-samples.ts';

export interface RequestSample {
  readonly kind: 'requests';
  readonly requests: number;
  readonly seconds: number;
  /** Of the proxy, over exactly these requests. */
  readonly cpuUserMs: number;
  readonly cpuSystemMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The most memory that the proxy has had so far in this case. */
  readonly peakKib: number;
}

export interface WatchSample {
  readonly kind: 'watches';
  readonly streams: number;
  /** Streams on which the event at the end arrived. */
  readonly delivered: number;
  /** Warm and without a stream. */
  readonly residentBeforeKib: number;
  /** With all streams open and quiet. */
  readonly residentOpenKib: number;
  readonly peakKib: number;
  /** Of the proxy, to open them all and pass on an event each. */
  readonly cpuUserMs: number;
  readonly cpuSystemMs: number;
}

export type Sample = RequestSample | WatchSample | SessionSample;

export interface Row {
  readonly contestant: string;
  readonly setup: string;
  /** In the order of the rounds. */
  readonly samples: readonly Sample[];
}

export interface CaseResult {
  readonly name: string;
  readonly title: string;
  readonly target?: { readonly contestant: string; readonly to: string; readonly ratio: number };
  /** `contestant` should need at most that, in the unit of the case. */
  readonly limit?: { readonly contestant: string; readonly most: number };
  readonly rows: readonly Row[];
}

export interface Results {
  readonly schemaVersion: 1;
  readonly section: 'gateway' | 'upgrades';
  readonly startedAt: string;
  /** Of the sources, with `+` behind when something was not committed. */
  readonly commit: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, string | number>>;
  readonly leftOut: readonly { readonly contestant: string; readonly reason: string }[];
  readonly cases: readonly CaseResult[];
}

export async function readResults(file: string): Promise<Results> {
  const results: Results = JSON.parse(await readFile(file, 'utf8'));
  if (results.schemaVersion !== 1 || !Array.isArray(results.cases)) {
    throw new Error(`${file} has not the form of results that this version writes`);
  }
  return results;
}
