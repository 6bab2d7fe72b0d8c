/** A straight line through measured points, and how steep it could be at most given how they scatter around it. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface StraightLine {
  /** y at x = 0. */
  readonly offset: number;
  /** y for each 1 of x. */
  readonly slope: number;
  /** In 95 of 100 such runs the true slope is below this (one-sided, Student's t). */
  readonly slopeAtMost: number;
}

/** @throws RangeError with fewer than 3 points, or when all are at one x */
export function fitStraightLine(points: readonly Point[]): StraightLine {
  const count = points.length;
  const meanX = mean(points.map(({ x }) => x));
  const meanY = mean(points.map(({ y }) => y));
  const spreadX = sum(points.map(({ x }) => (x - meanX) ** 2));
  if (count < 3 || spreadX === 0) {
    throw new RangeError(`${count} points, spread ${spreadX}: no line can be judged by them`);
  }
  const slope = sum(points.map(({ x, y }) => (x - meanX) * (y - meanY))) / spreadX;
  const offset = meanY - slope * meanX;
  const residue = sum(points.map(({ x, y }) => (y - offset - slope * x) ** 2));
  const standardError = Math.sqrt(residue / (count - 2) / spreadX);
  return { offset, slope, slopeAtMost: slope + quantile95(count - 2) * standardError };
}

/** The normal distribution's; Student's comes from it by the expansion of Abramowitz and Stegun, 26.7.5. */
const z = 1.6448536269514722;

/** Right to 0.5 % from 3 degrees of freedom on; below that a table. */
export function quantile95(degrees: number): number {
  const exact = [6.3138, 2.92, 2.3534][degrees - 1];
  if (exact !== undefined) return exact;
  return (
    z +
    (z ** 3 + z) / (4 * degrees) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3)
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}
