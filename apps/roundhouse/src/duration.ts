// Durations on the command line: a number with its unit.

const units: readonly (readonly [name: string, ms: number])[] = [
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
];

/** `500ms`, `1.5s`, `5m`, `2h`, `0`: milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = units.find(([name]) => name === unit)?.[1];
  return factor === undefined ? undefined : Math.round(Number(number) * factor);
}

/** The largest unit that divides it: 90_000 is `90s`, 60_000 `1m`. */
export function formatDuration(ms: number): string {
  const [name, factor] = units.find(([, candidate]) => ms >= candidate && ms % candidate === 0) ?? ['ms', 1];
  return ms === 0 ? '0' : `${ms / factor}${name}`;
}
