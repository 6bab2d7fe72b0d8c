import type { Command } from 'commander';
import { field, rowsOf, type Row } from '../admin-answer.ts';
import { AdminRefusal } from '../admin-client.ts';
import { CommandError } from '../command-error.ts';
import type { Context } from '../context.ts';
import { printable } from '../output/printable.ts';
import { sessionTarget } from '../output/session-target.ts';
import { addAdminOptions, postAdmin, readAdmin, type AdminOptions } from './admin-options.ts';

interface Flags extends AdminOptions {
  readonly all?: boolean;
  readonly cluster?: string;
  readonly user?: string;
}

/** @param listing the command that lists them */
export function defineKill(listing: Command, context: Context): void {
  const kill = listing
    .command('kill [id...]')
    .summary('end sessions, on both sides and at once')
    .description('End sessions, on both sides and at once.')
    .configureHelp({
      ...listing.configureHelp(),
      // The listing's own are here, too, or of no use here.
      visibleGlobalOptions: () => listing.createHelp().visibleGlobalOptions(listing),
    })
    .option('--all', 'all sessions, or those that --cluster and --user leave')
    .option('--cluster <name>', 'with --all: of this cluster only')
    .option('--user <name>', 'with --all: of this user only')
    .addHelpText(
      'after',
      `
What was ended is printed. Exit code 0: all that were named have ended, 1: none of them was open, 5: some were not. The
gateway takes this from its own machine only, unless it was started with --admin-remote-actions.

Examples:
  roundhouse sessions kill 9f86d081884c7d65
  roundhouse sessions kill --all --user jane
  roundhouse sessions kill --all --cluster alpha`,
    );
  addAdminOptions(kill).action(async (named: string[], own: Flags) => {
    const flags: Flags = { ...own, ...sharedOptions(listing) };
    checkSelection(named, flags);
    const ids = flags.all === true ? await selected(flags, context) : named.map(withoutKind);
    await killEach([...new Set(ids)], flags, context);
  });
}

/** Flags that both commands have are taken by the outer one, wherever they stand. */
function sharedOptions(listing: Command): AdminOptions {
  for (const name of ['output', 'watch', 'interval']) {
    if (listing.getOptionValueSource(name) === 'cli')
      throw new CommandError('usage', `--${name} is for listing sessions, not for ending them`);
  }
  return listing.opts<AdminOptions>();
}

function checkSelection(named: readonly string[], { all, cluster, user }: Flags): void {
  const narrowed = cluster !== undefined || user !== undefined;
  if (all !== true && narrowed) throw new CommandError('usage', '--cluster and --user go with --all');
  if (all === true && named.length > 0) throw new CommandError('usage', 'name sessions, or say --all');
  if (all !== true && named.length === 0)
    throw new CommandError('usage', 'say which: ids that "roundhouse sessions" lists, or --all');
}

async function selected(flags: Flags, { signal }: Context): Promise<string[]> {
  const { cluster, user } = flags;
  return rowsOf(await readAdmin(flags, '/debug/sessions', signal), 'sessions')
    .filter(
      (row) =>
        (cluster === undefined || field(row, 'cluster') === cluster) &&
        (user === undefined || field(row, 'user') === user),
    )
    .map((row) => field(row, 'id'));
}

/** `-o name` prints it with its kind. */
function withoutKind(id: string): string {
  return id.replace(/^session\//, '');
}

async function killEach(ids: readonly string[], flags: Flags, { terminal, signal }: Context): Promise<void> {
  const refusals: AdminRefusal[] = [];
  for (const id of ids) {
    try {
      const answer = await postAdmin(flags, `/debug/sessions/kill?id=${encodeURIComponent(id)}`, signal);
      terminal.write(`${printable(`session/${id} ended${describe(answer)}`)}\n`);
    } catch (error) {
      if (!(error instanceof AdminRefusal)) throw error;
      refusals.push(error);
    }
  }
  // What has ended by itself since it was listed needs no kill.
  const failed =
    flags.all === true ? refusals.filter(({ code }) => code !== 'ERR_RH_SESSION_UNKNOWN') : refusals;
  if (ids.length === refusals.length && failed.length === 0) terminal.note('No session was open.');
  const [first, ...others] = failed;
  if (first === undefined) return;
  if (ids.length === 1) throw first;
  for (const { message } of [first, ...others]) terminal.note(message);
  throw new CommandError(
    failed.length === ids.length ? 'finding' : 'partial',
    `${failed.length} of ${ids.length} sessions were not ended`,
  );
}

/** Whose it was, and what for. */
function describe(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null || !('ended' in answer)) return '';
  const [row] = rowsOf({ ended: [answer.ended] }, 'ended');
  return row === undefined ? '' : `: ${ownerOf(row)}${sessionTarget(row)} on ${field(row, 'cluster')}`;
}

function ownerOf(row: Row): string {
  const user = field(row, 'user');
  return user === '' ? '' : `${user}, `;
}
