/** The name that was probably meant; undefined when none is near. */
export function closestName(given: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  // A third of the letters may be wrong, or two that changed places; beyond that it is a guess.
  let bestDistance = (given.length <= 3 ? 1 : Math.max(2, Math.floor(given.length / 3))) + 1;
  for (const name of names) {
    const distance = distanceOf(given.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Letters to insert, remove or replace (Levenshtein). Names of options are short, and long ones are not compared. */
function distanceOf(left: string, right: string): number {
  if (left.length > 64 || right.length > 64) {
    return Number.POSITIVE_INFINITY;
  }
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 0; at < left.length; at += 1) {
    const next = [at + 1];
    for (let to = 0; to < right.length; to += 1) {
      const replaced = (row[to] ?? 0) + (left[at] === right[to] ? 0 : 1);
      next.push(Math.min(replaced, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
