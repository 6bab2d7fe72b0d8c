/**
 * `npm run bench`: measures, prints, and writes the results with the page that shows them.
 *
 *   npm run bench                                     everything, into bench/results/ and docs/
 *   npm run bench -- gateway                          one section
 *   npm run bench -- --case get-1kib                  some cases (may be repeated); not published
 *   npm run bench -- --contestant gateway             some contestants (may be repeated); not published
 *   npm run bench -- --baseline DIR                   also the gateway of another checkout; not published
 *   npm run bench -- --profile DIR                    CPU profiles of the gateways; not published, since they cost time
 *   npm run bench -- --rounds 5 --seconds 4           longer
 *   npm run bench -- --quick                          one short round, to see that it works; not published
 *   npm run bench -- --out DIR                        JSON, page and picture into a folder
 *   npm run bench -- --render                         the page again, from the results that are there
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cases } from './gateway/cases.ts';
import type { Case } from './gateway/cases.ts';
import { runGatewaySection } from './gateway/run.ts';
import { renderPage } from './report/page.ts';
import { renderPicture } from './report/picture.ts';
import { publishedFiles } from './report/published.ts';
import { readResults } from './report/results.ts';
import type { Results } from './report/results.ts';
import { sampleLine, summaryTable } from './report/terminal.ts';

const sections = ['gateway'];
const repository = resolve(import.meta.dirname, '..');
const published = publishedFiles(repository);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    case: { type: 'string', multiple: true, default: [] },
    contestant: { type: 'string', multiple: true },
    baseline: { type: 'string' },
    profile: { type: 'string' },
    out: { type: 'string' },
    quick: { type: 'boolean', default: false },
    render: { type: 'boolean', default: false },
  },
});

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<void> {
  const unknown = [
    ...positionals.filter((name) => !sections.includes(name)),
    ...values.case.filter((name) => !cases.some((known) => known.name === name)),
  ];
  if (unknown.length > 0) {
    say(`There is no ${unknown.join(', ')}. Sections: ${sections.join(', ')}. Cases of gateway:`);
    for (const { name, title } of cases) say(`  ${name.padEnd(16)}${title}`);
    process.exitCode = 2;
    return;
  }
  if (values.render) {
    await write(await readResults(published.json), published);
    return;
  }
  const ended = new AbortController();
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15, SIGHUP: 1 })) {
    process.once(signal, () => {
      process.exitCode = 128 + number;
      ended.abort();
    });
  }
  const asked = values.case.length === 0 ? cases : cases.filter(({ name }) => values.case.includes(name));
  const results = await measure(asked, ended.signal);
  if (results === undefined) {
    say('Ended early: nothing was written, and nothing is left running.');
    return;
  }
  process.stdout.write(`\n${summaryTable(results)}\n`);
  const plain =
    !values.quick &&
    [values.contestant, values.baseline, values.profile].every((value) => value === undefined);
  const whole = plain && asked.length === cases.length && results.leftOut.length === 0;
  const files =
    values.out === undefined && whole
      ? published
      : filesIn(resolve(values.out ?? join(repository, '.cache/bench')));
  await write(results, files);
  const lost = results.cases
    .flatMap(({ rows }) => rows.flatMap(({ samples }) => samples))
    .some((sample) => sample.kind === 'watches' && sample.delivered < sample.streams);
  if (lost) {
    say('Not every watch got its event.');
    process.exitCode = 1;
  }
}

/** Undefined when it was ended; whatever it had started is gone by then. */
async function measure(asked: readonly Case[], signal: AbortSignal): Promise<Results | undefined> {
  try {
    return await runGatewaySection({
      cases: asked,
      ...(values.contestant !== undefined && { only: values.contestant }),
      baseline: values.baseline === undefined ? undefined : resolve(values.baseline),
      profileFolder: values.profile === undefined ? undefined : resolve(values.profile),
      // Short rounds and many: a slow moment of the machine is then one round's, and the median does not see it.
      rounds: positive('rounds', values.rounds, values.quick ? 1 : 9),
      seconds: positive('seconds', values.seconds, values.quick ? 0.3 : 0.7),
      environment: process.env,
      signal,
      onSample: (...sample) => say(sampleLine(...sample)),
      report: say,
    });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

interface Files {
  readonly json: string;
  readonly page: string;
  readonly picture: string;
}

function filesIn(folder: string): Files {
  return {
    json: join(folder, 'gateway.json'),
    page: join(folder, 'benchmarks.md'),
    picture: join(folder, 'benchmarks.svg'),
  };
}

async function write(results: Results, files: Files): Promise<void> {
  for (const [file, content] of [
    [files.json, `${JSON.stringify(results, undefined, 1)}\n`],
    [files.page, renderPage(results)],
    [files.picture, renderPicture(results)],
  ] as const) {
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, content);
    say(`wrote ${file}`);
  }
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!(value > 0 && value <= 3_600)) throw new Error(`--${name} is ${text}, not a number above 0`);
  return value;
}

await main();
