import type { Command } from 'commander';
import { age, field, rowsOf, type Row } from '../admin-answer.ts';
import type { Context } from '../context.ts';
import { formatBytes } from '../output/bytes.ts';
import type { Column } from '../output/table.ts';
import { protocols } from '../output/protocols.ts';
import type { CommandModule } from './command-module.ts';
import { defineListing } from './listing-command.ts';

export const transportsCommand: CommandModule = {
  define(command: Command, context: Context): void {
    command.addHelpText(
      'after',
      `
A transport is the set of connections to one server with one TLS identity; requests of everybody share it. When the certificates of a
cluster change, its former generation drains beside the new one until nothing is under way on it.

Examples:
  roundhouse transports                 one line a transport
  roundhouse transports -o wide         with server name, dials, bytes
  roundhouse transports --watch         redraw every two seconds
  roundhouse transports -o json         everything the gateway says`,
    );
    defineListing(command, context, {
      kind: 'TransportList',
      path: '/debug/transports',
      parse: (answer) => rowsOf(answer, 'transports'),
      name: (row) => `transport/${field(row, 'id')}`,
      empty:
        'No transports: nothing has been asked for since the gateway started, or all were idle for long.',
      columns,
    });
  },
};

const columns: readonly Column<Row>[] = [
  { title: 'TRANSPORT', value: (row) => field(row, 'id') },
  { title: 'ORIGIN', value: (row) => field(row, 'origin') },
  { title: 'IDENTITIES', value: (row) => field(row, 'identities') },
  { title: 'GENERATION', value: (row) => field(row, 'generations') },
  { title: 'PROTOCOL', value: protocols },
  { title: 'STATE', value: (row) => field(row, 'state') },
  { title: 'IDLE', value: (row) => field(row, 'connections', 'idle') },
  { title: 'ACTIVE', value: (row) => field(row, 'connections', 'active') },
  { title: 'HTTP/2', wide: true, value: (row) => field(row, 'http2', 'connections') },
  { title: 'OPENING', wide: true, value: (row) => field(row, 'connections', 'opening') },
  { title: 'DRAINING', wide: true, value: (row) => field(row, 'connections', 'draining') },
  { title: 'STREAMS', value: (row) => field(row, 'streams') },
  { title: 'UPGRADES', value: (row) => field(row, 'upgrades') },
  { title: 'WAITING', value: (row) => field(row, 'waiting') },
  { title: 'REQUESTS', value: (row) => field(row, 'requestsTotal') },
  { title: 'DIALS', wide: true, value: (row) => field(row, 'dials') },
  { title: 'FAILED', wide: true, value: (row) => field(row, 'dialFailures') },
  { title: 'RESUMED', wide: true, value: (row) => field(row, 'resumptions') },
  { title: 'IN', wide: true, value: (row) => formatBytes(Number(field(row, 'bytesIn'))) },
  { title: 'OUT', wide: true, value: (row) => formatBytes(Number(field(row, 'bytesOut'))) },
  { title: 'LAST USED', value: (row) => age(row, 'lastUsedAt') },
  { title: 'AGE', value: (row) => age(row, 'createdAt') },
  { title: 'VERIFIED', wide: true, value: (row) => (field(row, 'insecure') === 'true' ? 'no' : 'yes') },
  { title: 'SERVER NAME', wide: true, value: (row) => field(row, 'serverName') },
  { title: 'DIALER', wide: true, value: (row) => field(row, 'dialer') },
];
