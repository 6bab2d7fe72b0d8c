// Durations as kubectl prints them: two units at most, the second only while it matters.

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `42s`, `3m20s`, `5h12m`, `4d3h`, `90d`. Negative durations count as 0. */
export function formatAge(ageMs: number): string {
  const age = Math.max(0, ageMs);
  if (age < 2 * minute) return `${Math.floor(age / second)}s`;
  if (age < 10 * minute) return pair(age, minute, 'm', second, 's');
  if (age < 3 * hour) return `${Math.floor(age / minute)}m`;
  if (age < 8 * hour) return pair(age, hour, 'h', minute, 'm');
  if (age < 2 * day) return `${Math.floor(age / hour)}h`;
  if (age < 8 * day) return pair(age, day, 'd', hour, 'h');
  return `${Math.floor(age / day)}d`;
}

function pair(age: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((age % big) / small);
  return `${Math.floor(age / big)}${bigName}${rest === 0 ? '' : `${rest}${smallName}`}`;
}
