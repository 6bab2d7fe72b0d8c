// What `clusters` and `transports` have in common.

import { Option, type Command } from 'commander';
import type { Context } from '../context.ts';
import { outputOption, printListing, type Listing, type OutputFormat } from '../output/listing.ts';
import { addAdminOptions, parseSeconds, readAdmin, type AdminOptions } from './admin-options.ts';

interface ListingFlags extends AdminOptions {
  readonly output: OutputFormat;
  readonly watch?: boolean;
  readonly interval: number;
}

/** `parse` turns the admin listener's answer at `path` into rows, or throws. */
export function defineListing<Row>(
  command: Command,
  { terminal, signal }: Context,
  listing: Omit<Listing<Row>, 'read'> & {
    readonly path: string;
    readonly parse: (answer: unknown) => readonly Row[];
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
    const { path, parse, ...rest } = listing;
    const read = async (until: AbortSignal): Promise<readonly Row[]> =>
      parse(await readAdmin(flags, path, until));
    const { output, watch = false, interval: intervalSeconds } = flags;
    await printListing({ ...rest, read }, { output, watch, intervalSeconds }, terminal, signal);
  });
}
