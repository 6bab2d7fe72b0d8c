/** What a soak leaves behind: each sample as it was measured, and what the load was. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What was done since the start. */
export interface SoakCounts {
  /** Answered as they should be. */
  readonly requests: number;
  /** Requests that failed because they were made to. */
  readonly errors: number;
  readonly rotations: number;
  readonly upgrades: number;
}

/** Taken with nothing under way and after a collection of garbage. */
export interface SoakSample extends SoakCounts {
  readonly elapsedMs: number;
  /** Of the process, as the kernel accounts it. */
  readonly residentKib: number;
  readonly heapUsedKib: number;
  /** What keeps the event loop alive, as Node.js counts it. */
  readonly handles: number;
  /** Sockets in /proc/self/fd. */
  readonly sockets: number;
  readonly transports: number;
}

export interface SoakResults {
  readonly schemaVersion: 1;
  readonly startedAt: string;
  readonly commit: string;
  readonly machine: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly minutes: number;
  readonly endpoints: number;
  readonly samples: readonly SoakSample[];
}

export async function readSoakResults(file: string): Promise<SoakResults> {
  const results: SoakResults = JSON.parse(await readFile(file, 'utf8'));
  if (results.schemaVersion !== 1 || !Array.isArray(results.samples)) {
    throw new Error(`${file} has not the form of results that this version writes`);
  }
  return results;
}

/** Where the results that the repository shows are kept. The page and the picture are made from the JSON and nothing else. */
export function publishedSoak(repository: string): { json: string; page: string; picture: string } {
  return {
    json: join(repository, 'bench/results/soak.json'),
    page: join(repository, 'docs/soak.md'),
    picture: join(repository, 'docs/soak.svg'),
  };
}
