/**
 * `npm run bench`: measures, prints, and writes the results with the page that shows them.
 *
 *   npm run bench                                     everything, into bench/results/ and docs/
 *   npm run bench -- gateway                          one section: gateway or upgrades
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
import { runGatewaySection } from './gateway/run.ts';
import { renderPage } from './report/page.ts';
import { renderPicture } from './report/picture.ts';
import { publishedFiles, publishedUpgrades } from './report/published.ts';
import { readResults } from './report/results.ts';
import type { Results } from './report/results.ts';
import { sampleLine, summaryTable } from './report/terminal.ts';
import { renderUpgradesPage } from './report/upgrades-page.ts';
import { upgradeCases } from './upgrades/cases.ts';
import { runUpgradesSection } from './upgrades/run.ts';

const sections = ['gateway', 'upgrades'] as const;
type Section = (typeof sections)[number];

const casesOf: Readonly<Record<Section, readonly { readonly name: string; readonly title: string }[]>> = {
  gateway: cases,
  upgrades: upgradeCases,
};
const repository = resolve(import.meta.dirname, '..');

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
    ...positionals.filter((name) => sections.every((section) => section !== name)),
    ...values.case.filter((name) => !sections.some((section) => has(section, name))),
  ];
  if (unknown.length > 0) {
    say(`There is no ${unknown.join(', ')}. Sections and their cases:`);
    for (const section of sections) {
      say(`  ${section}`);
      for (const { name, title } of casesOf[section]) say(`    ${name.padEnd(20)}${title}`);
    }
    process.exitCode = 2;
    return;
  }
  const asked = sections.filter(
    (section) =>
      (positionals.length === 0 || positionals.includes(section)) &&
      (values.case.length === 0 || values.case.some((name) => has(section, name))),
  );
  if (values.render) {
    for (const section of asked) await write(await readResults(published(section).json), published(section));
    return;
  }
  const ended = new AbortController();
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15, SIGHUP: 1 })) {
    process.once(signal, () => {
      process.exitCode = 128 + number;
      ended.abort();
    });
  }
  for (const section of asked) {
    const results = await measure(section, ended.signal);
    if (results === undefined) {
      say(`Ended early: nothing of ${section} was written, and nothing is left running.`);
      return;
    }
    await show(section, results);
  }
}

function has(section: Section, name: string): boolean {
  return casesOf[section].some((known) => known.name === name);
}

async function show(section: Section, results: Results): Promise<void> {
  process.stdout.write(`\n${summaryTable(results)}\n`);
  const plain =
    !values.quick &&
    [values.contestant, values.baseline, values.profile].every((value) => value === undefined);
  const whole = plain && results.cases.length === casesOf[section].length && results.leftOut.length === 0;
  const files =
    values.out === undefined && whole
      ? published(section)
      : filesIn(resolve(values.out ?? join(repository, '.cache/bench')), section);
  await write(results, files);
  const lost = results.cases
    .flatMap(({ rows }) => rows.flatMap(({ samples }) => samples))
    .some(
      (sample) =>
        (sample.kind === 'watches' && sample.delivered < sample.streams) ||
        (sample.kind === 'idle' && sample.delivered < sample.sessions),
    );
  if (lost) {
    say('Not every watch got its event, or not every session its answer.');
    process.exitCode = 1;
  }
}

/** Undefined when it was ended; whatever it had started is gone by then. */
async function measure(section: Section, signal: AbortSignal): Promise<Results | undefined> {
  const wanted = <T extends { readonly name: string }>(all: readonly T[]): readonly T[] =>
    values.case.length === 0 ? all : all.filter(({ name }) => values.case.includes(name));
  const common = {
    ...(values.contestant !== undefined && { only: values.contestant }),
    profileFolder: values.profile === undefined ? undefined : resolve(values.profile),
    environment: process.env,
    signal,
    onSample: (...sample: Parameters<typeof sampleLine>) => say(sampleLine(...sample)),
    report: say,
  };
  try {
    return section === 'gateway'
      ? await runGatewaySection({
          ...common,
          cases: wanted(cases),
          baseline: values.baseline === undefined ? undefined : resolve(values.baseline),
          // Short rounds and many: a slow moment of the machine is then one round's, and the median does not see it.
          rounds: positive('rounds', values.rounds, values.quick ? 1 : 9),
          seconds: positive('seconds', values.seconds, values.quick ? 0.3 : 0.7),
        })
      : await runUpgradesSection({
          ...common,
          cases: wanted(upgradeCases),
          rounds: positive('rounds', values.rounds, values.quick ? 1 : 3),
          seconds: positive('seconds', values.seconds, values.quick ? 0.3 : 1),
          scale: values.quick ? 0.05 : 1,
        });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

interface Files {
  readonly json: string;
  readonly page: string;
  readonly picture?: string;
}

function published(section: Section): Files {
  return section === 'gateway' ? publishedFiles(repository) : publishedUpgrades(repository);
}

function filesIn(folder: string, section: Section): Files {
  const json = join(folder, `${section}.json`);
  return section === 'gateway'
    ? { json, page: join(folder, 'benchmarks.md'), picture: join(folder, 'benchmarks.svg') }
    : { json, page: join(folder, 'benchmarks-upgrades.md') };
}

async function write(results: Results, { json, page, picture }: Files): Promise<void> {
  for (const [file, content] of [
    [json, `${JSON.stringify(results, undefined, 1)}\n`],
    [page, results.section === 'gateway' ? renderPage(results) : renderUpgradesPage(results)],
    ...(picture === undefined ? [] : [[picture, renderPicture(results)] as const]),
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
