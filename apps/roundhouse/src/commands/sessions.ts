import type { Command } from 'commander';
import { age, field, rowsOf, type Row } from '../admin-answer.ts';
import type { Context } from '../context.ts';
import { formatBytes } from '../output/bytes.ts';
import { sessionTarget } from '../output/session-target.ts';
import type { Column } from '../output/table.ts';
import type { CommandModule } from './command-module.ts';
import { defineListing } from './listing-command.ts';
import { defineKill } from './sessions-kill.ts';

export const sessionsCommand: CommandModule = {
  define(command: Command, context: Context): void {
    command.addHelpText(
      'after',
      `
A session is a connection that goes on in another protocol: exec, attach, cp, port-forward, a WebSocket. IN is what its
client has sent, OUT what the client got. ID is the request's id in the access log and in the audit log.

Examples:
  roundhouse sessions                   one line a session
  roundhouse sessions -o wide           with whom its user acts as, and since when
  roundhouse sessions --watch           redraw every two seconds
  roundhouse sessions kill ID           end one, on both sides and at once`,
    );
    defineListing(command, context, {
      kind: 'SessionList',
      path: '/debug/sessions',
      parse: (answer) => rowsOf(answer, 'sessions'),
      name: (row) => `session/${field(row, 'id')}`,
      empty: 'No sessions: nobody has an exec, attach, port-forward or WebSocket open.',
      columns,
    });
    defineKill(command, context);
  },
};

const columns: readonly Column<Row>[] = [
  { title: 'ID', value: (row) => field(row, 'id') },
  { title: 'USER', value: (row) => field(row, 'user') },
  { title: 'AS', wide: true, value: (row) => field(row, 'as') },
  { title: 'CLUSTER', value: (row) => field(row, 'cluster') },
  { title: 'WHAT', value: sessionTarget },
  { title: 'PROTOCOL', value: (row) => field(row, 'protocol') },
  { title: 'AGE', value: (row) => age(row, 'startedAt') },
  { title: 'IN', value: (row) => formatBytes(Number(field(row, 'bytesIn'))) },
  { title: 'OUT', value: (row) => formatBytes(Number(field(row, 'bytesOut'))) },
  { title: 'STARTED', wide: true, value: (row) => field(row, 'startedAt') },
];
