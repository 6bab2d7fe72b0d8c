// Reads what the admin listener answered. A gateway may be older or newer than this tool: a field that is missing shows
// as empty, one that is new is passed on in json and yaml.

import { CommandError } from './command-error.ts';
import { formatAge } from './output/age.ts';

export type Row = Readonly<Record<string, unknown>>;

/** The list under `key`; throws when the answer is not of that form at all. */
export function rowsOf(answer: unknown, key: string): readonly Row[] {
  const list = isRow(answer) ? answer[key] : undefined;
  if (!Array.isArray(list) || !list.every(isRow)) {
    throw new CommandError(
      'finding',
      `the admin listener answered without a list of ${key}; is it a gateway's?`,
    );
  }
  return list;
}

/** The list under `key`; none when a gateway of another version does not have it. */
export function optionalRowsOf(answer: unknown, key: string): readonly Row[] {
  return isRow(answer) && key in answer ? rowsOf(answer, key) : [];
}

/** The string, number or boolean at the path; `''` where there is none. Lists are joined by commas. */
export function field(row: Row, ...path: readonly string[]): string {
  let value: unknown = row;
  for (const name of path) value = isRow(value) ? value[name] : undefined;
  if (Array.isArray(value)) return value.map(String).join(',');
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** Milliseconds since the RFC 3339 time at the path; undefined where there is none. */
export function msSince(row: Row, now: number, ...path: readonly string[]): number | undefined {
  const time = Date.parse(field(row, ...path));
  return Number.isNaN(time) ? undefined : now - time;
}

/** The age of what has the RFC 3339 time at the path; `''` where there is none. */
export function age(row: Row, ...path: readonly string[]): string {
  const ms = msSince(row, Date.now(), ...path);
  return ms === undefined ? '' : formatAge(ms);
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
