// `-o table|wide|json|yaml|name` for commands that list things, once or with --watch.

import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from 'commander';
import { formatTable, type Column } from './table.ts';
import type { Terminal } from './terminal.ts';

export const outputFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type OutputFormat = (typeof outputFormats)[number];

export function outputOption(): Option {
  return new Option('-o, --output <format>', 'how to print').choices(outputFormats).default('table');
}

export interface Look<Row> {
  readonly rows: readonly Row[];
  /** What a person should know beside the table; they go to stderr. */
  readonly remarks: readonly string[];
}

export interface Listing<Row> {
  /** `kind` of the JSON and YAML forms. */
  readonly kind: string;
  readonly columns: readonly Column<Row>[];
  readonly name: (row: Row) => string;
  /** What is said on stderr when there is nothing to list. */
  readonly empty: string;
  readonly read: (signal: AbortSignal) => Promise<Look<Row>>;
}

export interface ListingOptions {
  readonly output: OutputFormat;
  readonly watch: boolean;
  /** Seconds between two looks with --watch. */
  readonly intervalSeconds: number;
}

/** The JSON and YAML forms say which version of their shape they are; it grows only by fields that are new. */
const schemaVersion = 1;

export async function printListing<Row>(
  listing: Listing<Row>,
  options: ListingOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  if (options.watch) return await watchListing(listing, options, terminal, signal);
  const { rows, remarks } = await listing.read(signal);
  if (rows.length === 0 && isTable(options.output)) terminal.note(listing.empty);
  else terminal.write(await render(listing, rows, options.output));
  if (isTable(options.output)) for (const remark of remarks) terminal.note(remark);
}

/** Until ctrl-C. Tables are redrawn on a terminal; everywhere else each look adds the rows that changed since the last. */
async function watchListing<Row>(
  listing: Listing<Row>,
  { output, intervalSeconds }: ListingOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  let seen = new Map<string, string>();
  let header = true;
  for await (const { rows } of looks(listing, intervalSeconds * 1000, signal)) {
    if (terminal.isInteractive && isTable(output)) {
      terminal.write(`\u001b[H\u001b[J${await render(listing, rows, output)}`);
      continue;
    }
    const changed = rows.filter((row) => seen.get(listing.name(row)) !== JSON.stringify(row));
    seen = new Map(rows.map((row) => [listing.name(row), JSON.stringify(row)]));
    if (changed.length === 0) continue;
    if (isTable(output))
      terminal.write(formatTable(listing.columns, changed, { wide: output === 'wide', header }));
    else if (output === 'json') terminal.write(changed.map((row) => `${JSON.stringify(row)}\n`).join(''));
    else terminal.write(`${output === 'yaml' ? '---\n' : ''}${await render(listing, changed, output)}`);
    header = false;
  }
  // Nothing else ends a watch: to whoever waits for it, it was interrupted.
  signal.throwIfAborted();
}

/** One answer per interval; ends when `signal` does. */
async function* looks<Row>(
  listing: Listing<Row>,
  intervalMs: number,
  signal: AbortSignal,
): AsyncGenerator<Look<Row>> {
  try {
    for (;;) {
      yield await listing.read(signal);
      await sleep(intervalMs, undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function render<Row>(
  listing: Listing<Row>,
  rows: readonly Row[],
  output: OutputFormat,
): Promise<string> {
  switch (output) {
    case 'table':
    case 'wide':
      return formatTable(listing.columns, rows, { wide: output === 'wide' });
    case 'name':
      return rows.map((row) => `${listing.name(row)}\n`).join('');
    case 'json':
      return `${JSON.stringify(envelope(listing, rows), null, 2)}\n`;
    case 'yaml': {
      const { stringify } = await import('yaml');
      return stringify(envelope(listing, rows));
    }
  }
}

function envelope<Row>(listing: Listing<Row>, rows: readonly Row[]): object {
  return { schemaVersion, kind: listing.kind, items: rows };
}

function isTable(output: OutputFormat): boolean {
  return output === 'table' || output === 'wide';
}
