/** A remote command over SPDY, from the client's side; in the order of client-go. */

import { BytePipe, readAll } from '../byte-pipe.ts';
import type { SocketConnection } from '../socket-connection.ts';
import type { RemoteCommandOptions } from '../remote-streams.ts';
import { spdyCommandProtocols } from '../server/spdy-remote-command.ts';
import { SpdySession } from '../spdy/session.ts';
import type { SpdyStream } from '../spdy/stream.ts';
import type { CommandStreams } from './exec-client.ts';
import type { UpgradeAsk } from './open-upgrade.ts';
import { parseExit } from './parse-exit.ts';

export function spdyAsk(
  protocols: readonly string[] = ['v5.channel.k8s.io', ...spdyCommandProtocols],
): Pick<UpgradeAsk, 'method' | 'fields'> {
  return {
    method: 'POST',
    fields: [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'SPDY/3.1'],
      ...protocols.map((protocol) => ['X-Stream-Protocol-Version', protocol] as const),
    ],
  };
}

export async function openSpdyCommand(
  connection: SocketConnection,
  fields: ReadonlyMap<string, readonly string[]>,
  options: RemoteCommandOptions,
): Promise<{ readonly protocol: string; readonly streams: CommandStreams }> {
  const [protocol = ''] = fields.get('x-stream-protocol-version') ?? [];
  const session = new SpdySession(connection, { role: 'client' });
  // Its streams tell how it ended.
  session.run().catch(() => {});
  const open = async (type: string): Promise<SpdyStream> => session.open(new Map([['streamtype', type]]));
  const error = await open('error');
  const stdin = options.stdin ? await open('stdin') : undefined;
  const stdout = options.stdout ? await open('stdout') : undefined;
  const stderr = options.stderr ? await open('stderr') : undefined;
  const sizes = options.tty ? await open('resize') : undefined;
  const withStatus = protocol === 'v4.channel.k8s.io';
  const streams: CommandStreams = {
    stdin,
    stdout: stdout ?? (await nothing()),
    stderr: stderr ?? (await nothing()),
    exit: readAll(error).then((status) => parseExit(status.toString(), withStatus)),
    resize: async ({ columns, rows }) => {
      await sizes?.write(Buffer.from(`${JSON.stringify({ Width: columns, Height: rows })}\n`));
    },
    ping: async () => session.ping(),
    goodbye: async () => {
      await session.resetStreams();
      await session.goAway();
    },
  };
  return { protocol, streams };
}

async function nothing(): Promise<BytePipe> {
  const pipe = new BytePipe();
  await pipe.end();
  return pipe;
}
