/** A remote command over WebSocket, from the client's side. */

import { randomBytes } from 'node:crypto';
import { ConnectionGone, ProtocolViolation } from '../byte-connection.ts';
import { BytePipe, type ByteSink } from '../byte-pipe.ts';
import {
  channel,
  channelProtocols,
  closeSignal,
  decodeChannelMessage,
  encodeChannelMessage,
  unnamedProtocol,
  type ChannelProtocol,
} from '../channels.ts';
import type { SocketConnection } from '../socket-connection.ts';
import type { RemoteCommandOptions } from '../remote-streams.ts';
import { WebSocketConnection } from '../websocket/connection.ts';
import type { CommandStreams, ExecExit } from './exec-client.ts';
import type { UpgradeAsk } from './open-upgrade.ts';
import { parseExit } from './parse-exit.ts';

export function webSocketAsk(
  protocols: readonly string[] = ['v5.channel.k8s.io'],
): Pick<UpgradeAsk, 'method' | 'fields'> {
  return {
    method: 'GET',
    fields: [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'websocket'],
      ['Sec-WebSocket-Version', '13'],
      ['Sec-WebSocket-Key', randomBytes(16).toString('base64')],
      ...(protocols.length === 0 ? [] : [['Sec-WebSocket-Protocol', protocols.join(', ')] as const]),
    ],
  };
}

/** Of one message that we send. */
const maxPayloadBytes = 32_768;
const maxStatusBytes = 65_536;

export async function openWebSocketCommand(
  connection: SocketConnection,
  fields: ReadonlyMap<string, readonly string[]>,
  options: RemoteCommandOptions,
): Promise<{ readonly protocol: string; readonly streams: CommandStreams }> {
  const [name = ''] = fields.get('sec-websocket-protocol') ?? [];
  const protocol = channelProtocols.find((each) => each.name === name) ?? unnamedProtocol;
  const command = new WebSocketCommand(connection, protocol, options);
  void command.read();
  return { protocol: name, streams: command };
}

class WebSocketCommand implements CommandStreams {
  readonly stdin: ByteSink | undefined;
  readonly stdout = new BytePipe();
  readonly stderr = new BytePipe();
  readonly exit: Promise<ExecExit>;
  readonly #webSocket: WebSocketConnection;
  readonly #connection: SocketConnection;
  readonly #protocol: ChannelProtocol;
  readonly #exit = Promise.withResolvers<ExecExit>();
  #status = '';

  constructor(connection: SocketConnection, protocol: ChannelProtocol, { stdin }: RemoteCommandOptions) {
    this.#connection = connection;
    this.#webSocket = new WebSocketConnection(connection, 'client');
    this.#protocol = protocol;
    this.exit = this.#exit.promise;
    if (stdin) {
      this.stdin = {
        write: async (bytes) => {
          for (let offset = 0; offset < bytes.length; offset += maxPayloadBytes) {
            await this.#send(channel.stdin, Buffer.from(bytes.subarray(offset, offset + maxPayloadBytes)));
          }
        },
        end: async () => {
          if (protocol.closes) await this.#send(closeSignal, Buffer.from([channel.stdin]));
        },
      };
    }
  }

  async resize({ columns, rows }: { readonly columns: number; readonly rows: number }): Promise<void> {
    await this.#send(channel.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows })));
  }

  async ping(): Promise<void> {
    await this.#webSocket.ping();
  }

  async goodbye(): Promise<void> {
    await this.#webSocket.close();
  }

  /** Never rejects: the streams tell. */
  async read(): Promise<void> {
    let reason: Error | undefined;
    try {
      for await (const { data } of this.#webSocket.messages()) await this.#receive(data);
      // What comes behind the close frame is the end of the connection.
      this.#connection.socket.resume();
      if (this.#webSocket.closeCode === undefined && this.#status === '') reason = new ConnectionGone();
    } catch (error) {
      reason = error instanceof Error ? error : new ConnectionGone();
    }
    this.#finish(reason);
  }

  #finish(reason: Error | undefined): void {
    for (const pipe of [this.stdout, this.stderr]) {
      if (reason === undefined) void pipe.end();
      else pipe.fail(reason);
    }
    try {
      if (reason === undefined) this.#exit.resolve(parseExit(this.#status, this.#protocol.status));
      else this.#exit.reject(reason);
    } catch (error) {
      this.#exit.reject(error);
    }
  }

  async #receive(message: Buffer): Promise<void> {
    const received = decodeChannelMessage(message, this.#protocol);
    if (received === undefined) throw new ProtocolViolation('a message without a channel');
    if (received.channel === channel.error) {
      this.#status += received.data.toString();
      if (this.#status.length > maxStatusBytes) throw new ProtocolViolation('a status without an end');
      if (received.data.length > 0 && this.#protocol.status)
        this.#exit.resolve(parseExit(this.#status, true));
      return;
    }
    const pipe =
      received.channel === channel.stdout
        ? this.stdout
        : received.channel === channel.stderr
          ? this.stderr
          : undefined;
    await pipe?.write(received.data).catch(() => {});
  }

  async #send(number: number, data: Buffer): Promise<void> {
    const { base64 } = this.#protocol;
    await this.#webSocket.send(encodeChannelMessage({ channel: number, data }, this.#protocol), {
      text: base64,
    });
  }
}
