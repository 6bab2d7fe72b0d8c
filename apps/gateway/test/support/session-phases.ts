/** Moments in the life of a session, and how either side gets there. The last word of the command says which one it is. */

import type { UpgradeConnection } from '@roundhouse/simulators';
import type { AnySession } from './fronts.ts';
import { execPath } from './session-client.ts';

export interface Phase {
  /** What the cluster does with such a request. */
  readonly cluster: (connection: UpgradeConnection) => void;
  /** What the client does; resolves when the session is there. */
  readonly client: (client: AnySession) => Promise<void>;
}

const block = Buffer.alloc(16_384, 'x');

/** Sends a megabyte a second for as long as anybody is there. */
function output({ socket }: UpgradeConnection): void {
  const timer = setInterval(() => socket.write(block), 16);
  socket.once('close', () => clearInterval(timer));
}

function push(sink: {
  write(bytes: Buffer): boolean;
  destroyed: boolean;
  on(event: 'drain', f: () => void): unknown;
}): void {
  const more = (): void => {
    while (!sink.destroyed && sink.write(block));
  };
  sink.on('drain', more);
  more();
}

const agree = (connection: UpgradeConnection): void => void connection.write(connection.switchingHead());
const answered = async (client: AnySession): Promise<void> => void (await client.answered());
const streamOf = (client: AnySession) => ('socket' in client ? client.socket : client.stream);
/** Resolves when nothing more is taken. */
async function full(bytes: () => number): Promise<void> {
  for (let before = -1; bytes() !== before;) {
    before = bytes();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const phases = {
  'before the 101': { cluster: () => undefined, client: async () => undefined },
  'in the middle of the 101': {
    cluster: (connection) => void connection.write(connection.switchingHead().slice(0, 40)),
    client: async () => undefined,
  },
  'between the 101 and the first byte': { cluster: agree, client: answered },
  'during output': {
    cluster: (connection) => {
      agree(connection);
      output(connection);
    },
    client: async (client) => client.until(() => client.body !== ''),
  },
  'while the client takes nothing': {
    cluster: (connection) => {
      agree(connection);
      push(connection.socket);
    },
    client: async (client) => {
      await client.answered();
      streamOf(client).pause();
      await new Promise((resolve) => setTimeout(resolve, 100));
    },
  },
  'while the cluster takes nothing': {
    cluster: (connection) => {
      agree(connection);
      connection.socket.pause();
    },
    client: async (client) => {
      await client.answered();
      const stream = streamOf(client);
      push(stream);
      await full(() => stream.writableLength);
    },
  },
  'after the client has ended': {
    cluster: (connection) => {
      agree(connection);
      output(connection);
    },
    client: async (client) => {
      await client.answered();
      client.end();
      await client.until(() => client.body !== '');
    },
  },
  'after the cluster has ended': {
    cluster: (connection) => {
      agree(connection);
      connection.socket.end();
    },
    client: async (client) => client.until(() => client.ended),
  },
} as const satisfies Readonly<Record<string, Phase>>;

export type PhaseName = keyof typeof phases;

export const phaseNames = Object.keys(phases) as readonly PhaseName[];

export function phasePath(name: PhaseName): string {
  return execPath.replace('ls', encodeURIComponent(name));
}

export function phaseOf({ requestLine }: UpgradeConnection): PhaseName | undefined {
  const name = decodeURIComponent(/command=([^ &]+)/.exec(requestLine)?.[1] ?? '');
  return phaseNames.find((known) => known === name);
}

/** For a server whose side stays open when the client ends its own. */
export function answerPhase(connection: UpgradeConnection): void {
  const name = phaseOf(connection);
  if (name === undefined) return;
  if (name !== 'after the client has ended') connection.socket.once('end', () => connection.socket.end());
  phases[name].cluster(connection);
}
