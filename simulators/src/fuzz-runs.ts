/** How long and from which seed the fuzz tests run: short and the same each time, unless `npm run fuzz` says otherwise. */

export interface FuzzRuns {
  readonly seed: number;
  readonly numRuns: number;
  /** A fuzz test is bounded by time, too: what it has found by then counts. */
  readonly interruptAfterTimeLimit: number;
}

/** Of the runs that are part of every `npm test`. Any number will do, as long as it stays. */
const everydaySeed = 20_261_201;
const everydayLimitMs = 20_000;

/** @param numRuns in every `npm test` */
export function fuzzRuns(numRuns: number): FuzzRuns {
  const times = wholeNumberIn('ROUNDHOUSE_FUZZ_TIMES') ?? 1;
  return {
    seed: wholeNumberIn('ROUNDHOUSE_FUZZ_SEED') ?? everydaySeed,
    numRuns: numRuns * times,
    interruptAfterTimeLimit: everydayLimitMs * Math.min(times, 15),
  };
}

function wholeNumberIn(name: string): number | undefined {
  // oxlint-disable-next-line node/no-process-env -- node's test runner passes nothing else on to its files
  const text = process.env[name];
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} is "${text}", not a whole number`);
  return Number(text);
}
