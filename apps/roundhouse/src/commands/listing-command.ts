// What `clusters`, `transports` and `sessions` have in common.

import { Option, type Command } from 'commander';
import type { Context } from '../context.ts';
import { outputOption, printListing, type Listing, type Look, type OutputFormat } from '../output/listing.ts';
import { addAdminOptions, parseSeconds, readAdmin, type AdminOptions } from './admin-options.ts';

interface ListingFlags extends AdminOptions {
  readonly output: OutputFormat;
  readonly watch?: boolean;
  readonly interval: number;
}

/** `parse` and `remarks` read what the admin listener answers at `path`. */
export function defineListing<Row>(
  command: Command,
  { terminal, signal }: Context,
  listing: Omit<Listing<Row>, 'read'> & {
    readonly path: string;
    readonly parse: (answer: unknown) => readonly Row[];
    readonly remarks?: (answer: unknown) => readonly string[];
  },
): void {
  addAdminOptions(
    command
      .addOption(outputOption())
      .option('-w, --watch', 'go on until ctrl-C')
      .addOption(
        new Option('--interval <seconds>', 'time between two looks with --watch')
          .default(2)
          .argParser((text) => parseSeconds('--interval', text)),
      ),
  ).action(async (flags: ListingFlags) => {
    const { path, parse, remarks, ...rest } = listing;
    const read = async (until: AbortSignal): Promise<Look<Row>> => {
      const answer = await readAdmin(flags, path, until);
      return { rows: parse(answer), remarks: remarks?.(answer) ?? [] };
    };
    const { output, watch = false, interval: intervalSeconds } = flags;
    await printListing({ ...rest, read }, { output, watch, intervalSeconds }, terminal, signal);
  });
}
