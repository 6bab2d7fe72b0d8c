/**
 * `npm run soak`: holds a pool under load, rotations and errors, and says whether anything grew.
 *
 *   npm run soak                       long enough to prove it, into bench/results/ and docs/
 *   npm run soak -- --minutes 5        shorter; the verdict is printed, and published only when there was enough of everything
 *   npm run soak -- --out DIR          JSON, page and picture into a folder instead
 *   npm run soak -- --render           the page again, from the results that are there
 *
 * Exit code: 0 it held; 1 something grew, or an answer was not what it must be; 2 bad arguments; 3 too short to prove anything.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { renderSoakPage } from './page.ts';
import { renderSoakPicture } from './picture.ts';
import { publishedSoak, readSoakResults } from './results.ts';
import type { SoakResults, SoakSample } from './results.ts';
import { runSoak } from './run.ts';
import { count, judge, verdictLines } from './verdict.ts';

const repository = resolve(import.meta.dirname, '../..');
const published = publishedSoak(repository);
const defaultMinutes = '10';
const exitCodes = { held: 0, leaks: 1, 'too short': 3 } as const;

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: defaultMinutes },
      endpoints: { type: 'string', default: '20' },
      out: { type: 'string' },
      render: { type: 'boolean', default: false },
    },
  });
  const [minutes, endpoints] = [Number(values.minutes), Number(values.endpoints)];
  if (
    !(minutes > 0 && minutes <= 1_440) ||
    !(Number.isInteger(endpoints) && endpoints > 0 && endpoints <= 1_000)
  ) {
    say('--minutes takes a number above 0 and up to 1440, --endpoints a whole one from 1 to 1000.');
    return 2;
  }
  if (values.render) {
    await write(await readSoakResults(published.json), published);
    return 0;
  }
  const ended = new AbortController();
  let exitCode = 1;
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15, SIGHUP: 1 })) {
    process.once(signal, () => {
      exitCode = 128 + number;
      ended.abort();
    });
  }
  say(`A pool with ${endpoints} identities, ${minutes} minutes. Ctrl-C ends it and leaves nothing behind.`);
  try {
    const results = await runSoak({ minutes, endpoints, signal: ended.signal, onSample: progress });
    const verdict = judge(results);
    process.stdout.write(`${verdictLines(results, verdict).join('\n')}\n`);
    const folder =
      values.out ?? (verdict.outcome === 'too short' ? join(repository, '.cache/bench') : undefined);
    await write(results, folder === undefined ? published : filesIn(resolve(folder)));
    return exitCodes[verdict.outcome];
  } catch (error) {
    say(
      ended.signal.aborted
        ? 'Ended early: nothing was written, and nothing is left running.'
        : `The soak broke off, and nothing was written: ${error instanceof Error ? error.message : String(error)}`,
    );
    return exitCode;
  }
}

function progress(sample: SoakSample, share: number): void {
  const { requests, errors, rotations, upgrades, residentKib, handles, sockets } = sample;
  say(
    `${(share * 100).toFixed(0).padStart(3)} %  ${count(requests)} requests, ${count(errors)} errors, ${count(rotations)} rotations, ` +
      `${count(upgrades)} upgrades: RSS ${(residentKib / 1024).toFixed(1)} MiB, ${handles} handles, ${sockets} sockets`,
  );
}

function filesIn(folder: string): typeof published {
  return {
    json: join(folder, 'soak.json'),
    page: join(folder, 'soak.md'),
    picture: join(folder, 'soak.svg'),
  };
}

async function write(results: SoakResults, { json, page, picture }: typeof published): Promise<void> {
  for (const [file, content] of [
    [json, `${JSON.stringify(results)}\n`],
    [page, renderSoakPage(results)],
    [picture, renderSoakPicture(results)],
  ] as const) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    say(`wrote ${file}`);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
