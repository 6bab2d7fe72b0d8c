import type { Command } from 'commander';
import { field, msSince, optionalRowsOf, rowsOf, type Row } from '../admin-answer.ts';
import type { Context } from '../context.ts';
import { formatAge } from '../output/age.ts';
import { protocols } from '../output/protocols.ts';
import type { Column } from '../output/table.ts';
import type { Style, Terminal } from '../output/terminal.ts';
import type { CommandModule } from './command-module.ts';
import { defineListing } from './listing-command.ts';

export const clustersCommand: CommandModule = {
  define(command: Command, context: Context): void {
    command.addHelpText(
      'after',
      `
Examples:
  roundhouse clusters                   one line a cluster
  roundhouse clusters -o wide           with source, identity mode and the last error in full
  roundhouse clusters -o name | wc -l   how many there are`,
    );
    defineListing(command, context, {
      kind: 'ClusterList',
      path: '/debug/clusters',
      parse: (answer) => rowsOf(answer, 'clusters'),
      remarks: (answer) => [...brokenSources(answer), ...nameConflicts(answer)],
      name: (row) => `cluster/${field(row, 'name')}`,
      empty: 'No clusters: the kubeconfig files that the gateway was given have no context.',
      columns: columnsFor(context.terminal),
    });
  },
};

const stateStyles: Readonly<Record<string, Style>> = {
  ready: 'green',
  refused: 'red',
  stale: 'yellow',
  failing: 'red',
};

function columnsFor(terminal: Terminal): readonly Column<Row>[] {
  return [
    { title: 'NAME', value: (row) => field(row, 'name') },
    {
      title: 'STATE',
      value: (row) => field(row, 'state'),
      paint: (row, cell) => terminal.style(stateStyles[field(row, 'state')] ?? 'reset', cell),
    },
    { title: 'SERVER', value: (row) => field(row, 'server') },
    { title: 'IDENTITY', wide: true, value: (row) => field(row, 'identity') },
    { title: 'VERIFIED', wide: true, value: (row) => (field(row, 'insecure') === 'true' ? 'no' : 'yes') },
    { title: 'IN FLIGHT', wide: true, value: (row) => field(row, 'inFlight') },
    { title: 'PROTOCOL', wide: true, value: protocols },
    { title: 'PATH', wide: true, value: (row) => field(row, 'path') },
    { title: 'CREDENTIAL', wide: true, value: credential },
    { title: 'CERTIFICATE EXPIRES', value: (row) => expiry(row, 'certificateExpiresAt') },
    { title: 'SOURCE', wide: true, value: (row) => field(row, 'source') },
    { title: 'LAST ERROR', value: lastError },
  ];
}

/** Its kind, and when a token says that it ends. */
function credential(row: Row): string {
  const kind = field(row, 'credential', 'kind');
  const when = expiry(row, 'credential', 'expiresAt');
  return when === '' ? kind : `${kind}, ends ${when}`;
}

function expiry(row: Row, ...path: readonly string[]): string {
  const since = msSince(row, Date.now(), ...path);
  if (since === undefined) return '';
  return since > 0 ? `${formatAge(since)} ago` : `in ${formatAge(-since)}`;
}

function lastError(row: Row): string {
  return field(row, 'lastError', 'message') || field(row, 'lastError');
}

/** A file that has turned bad shows in no row: its clusters go on as they were. */
function brokenSources(answer: unknown): string[] {
  return optionalRowsOf(answer, 'sources')
    .filter((source) => field(source, 'state') !== 'good')
    .map(
      (source) =>
        `${field(source, 'path')} cannot be used now (${lastError(source)}); its last good content stays in use`,
    );
}

function nameConflicts(answer: unknown): string[] {
  return optionalRowsOf(answer, 'conflicts').map(
    (conflict) =>
      `${field(conflict, 'name')} of ${field(conflict, 'source')} is not served: ${field(conflict, 'heldBy')} has the name`,
  );
}
