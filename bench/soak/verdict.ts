/** Whether a soak held: nothing may grow with the operations, and there must have been enough of them. */

import type { SoakResults, SoakSample } from './results.ts';
import { fitStraightLine } from './straight-line.ts';
import type { StraightLine } from './straight-line.ts';

export interface Measured {
  readonly name: 'residentKib' | 'handles' | 'sockets';
  readonly title: string;
  readonly unit: string;
  /** The most that `line.slopeAtMost` may be, in `unit` for 1,000 operations. */
  readonly most: number;
}

const measured: readonly Measured[] = [
  { name: 'residentKib', title: 'Memory of the process (RSS)', unit: 'KiB', most: 1 },
  { name: 'handles', title: 'Handles of the event loop', unit: 'handles', most: 0 },
  { name: 'sockets', title: 'Sockets', unit: 'sockets', most: 0 },
];

/** Below these a run proves nothing. */
export const least = { requests: 1_000_000, rotations: 10_000, errors: 1_000 } as const;

/** What a rounding error is, not a leak: one handle in 10^12 operations. */
const tolerance = 1e-9;

export interface Finding {
  readonly measured: Measured;
  /** Through the second half, x in thousands of operations. */
  readonly line: StraightLine;
  readonly held: boolean;
}

export interface Verdict {
  readonly findings: readonly Finding[];
  /** Of what there was too little, in words. */
  readonly missing: readonly string[];
  /** - `leaks`: something grew. - `too short`: nothing did, in a run that is no proof. */
  readonly outcome: 'held' | 'leaks' | 'too short';
}

export function judge({ samples }: Pick<SoakResults, 'samples'>): Verdict {
  const half = secondHalf(samples);
  const findings = measured.map((kind): Finding => {
    const line = fitStraightLine(
      half.map((sample) => ({ x: operationsOf(sample) / 1_000, y: sample[kind.name] })),
    );
    return { measured: kind, line, held: line.slopeAtMost <= kind.most + tolerance };
  });
  const last = samples.at(-1);
  const missing = Object.entries(least).flatMap(([name, wanted]) => {
    const got = last?.[name as keyof typeof least] ?? 0;
    return got < wanted ? [`${count(got)} of ${count(wanted)} ${name}`] : [];
  });
  const held = findings.every((finding) => finding.held);
  return { findings, missing, outcome: !held ? 'leaks' : missing.length > 0 ? 'too short' : 'held' };
}

export function operationsOf({ requests, errors, rotations, upgrades }: SoakSample): number {
  return requests + errors + rotations + upgrades;
}

/** By operations, not by samples: warming up belongs to the first. */
export function secondHalf(samples: readonly SoakSample[]): readonly SoakSample[] {
  const last = samples.at(-1);
  const middle = last === undefined ? 0 : operationsOf(last) / 2;
  return samples.filter((sample) => operationsOf(sample) >= middle);
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** For the terminal. */
export function verdictLines({ samples }: Pick<SoakResults, 'samples'>, verdict: Verdict): readonly string[] {
  const last = samples.at(-1);
  const did =
    last === undefined
      ? 'Nothing was measured.'
      : `${count(last.requests)} requests, ${count(last.errors)} errors on purpose, ${count(last.rotations)} rotations, ${count(last.upgrades)} upgrades.`;
  return [
    did,
    ...verdict.findings.map(
      ({ measured: { title, unit, most }, line, held }) =>
        `  ${held ? 'held ' : 'GREW '} ${title}: at most ${line.slopeAtMost.toFixed(3)} ${unit} for 1,000 operations (limit ${most})`,
    ),
    verdict.outcome === 'too short'
      ? `Verdict: too short to prove anything: ${verdict.missing.join(', ')}.`
      : `Verdict: ${verdict.outcome}.`,
  ];
}
