/** The streams of a remote command over WebSocket: numbered channels in one sequence of messages. */

import { BytePipe, type ByteSink } from '../byte-pipe.ts';
import { ConnectionGone } from '../byte-connection.ts';
import {
  channel,
  closeSignal,
  decodeChannelMessage,
  encodeChannelMessage,
  type ChannelProtocol,
} from '../channels.ts';
import {
  failureText,
  statusOf,
  type CommandOutcome,
  type RemoteCommandOptions,
  type RemoteStreams,
} from '../remote-streams.ts';
import type { SocketConnection } from '../socket-connection.ts';
import { WebSocketConnection } from '../websocket/connection.ts';
import type { StreamEnding } from './stream-ending.ts';

export interface WebSocketCommandOptions extends RemoteCommandOptions {
  readonly protocol: ChannelProtocol;
  readonly ending: StreamEnding;
}

/** Of one message that we send. */
const maxPayloadBytes = 32_768;

export class WebSocketRemoteStreams implements RemoteStreams {
  readonly stdin: BytePipe | undefined;
  readonly stdout: ByteSink | undefined;
  readonly stderr: ByteSink | undefined;
  readonly resizes: BytePipe | undefined;
  readonly gone: AbortSignal;
  readonly #connection: SocketConnection;
  readonly #webSocket: WebSocketConnection;
  readonly #options: WebSocketCommandOptions;
  readonly #gone = new AbortController();

  private constructor(connection: SocketConnection, options: WebSocketCommandOptions) {
    this.#connection = connection;
    this.#webSocket = new WebSocketConnection(connection, 'server');
    this.#options = options;
    this.gone = this.#gone.signal;
    this.stdin = options.stdin ? new BytePipe() : undefined;
    this.resizes = options.tty ? new BytePipe() : undefined;
    this.stdout = options.stdout ? this.#sink(channel.stdout) : undefined;
    this.stderr = options.stderr ? this.#sink(channel.stderr) : undefined;
  }

  static async open(
    connection: SocketConnection,
    options: WebSocketCommandOptions,
  ): Promise<WebSocketRemoteStreams> {
    const streams = new WebSocketRemoteStreams(connection, options);
    void connection.closed.then(() => streams.#gone.abort());
    void streams.#read();
    // An empty message on the first channel that can be written tells the client that the connection is there.
    const first = options.stdout ? channel.stdout : options.stderr ? channel.stderr : channel.error;
    await streams.#send(first, Buffer.alloc(0)).catch(ignoreGone);
    return streams;
  }

  async finish(outcome: CommandOutcome): Promise<void> {
    const { protocol, ending } = this.#options;
    const by = protocol.closes ? 'apiserver' : 'runtime';
    const text = protocol.status ? JSON.stringify(statusOf(outcome, { by })) : failureText(outcome);
    if (text !== '') await this.#send(channel.error, Buffer.from(text));
    this.stdin?.close();
    this.resizes?.close();
    if (ending !== 'fin-only') await this.#webSocket.close();
    if (ending !== 'goodbye-only') this.#connection.end();
  }

  /** To the end of the connection: what comes behind the close frame is of no interest, but has to be read. */
  async #read(): Promise<void> {
    try {
      for await (const { data } of this.#webSocket.messages()) await this.#receive(data);
      // With its input at an end a command may go on; who has none, or has said goodbye, has gone.
      if (this.stdin === undefined || this.#webSocket.closeCode !== undefined) {
        this.#gone.abort();
        this.#connection.end();
      }
      this.#connection.socket.resume();
    } catch (error) {
      this.#gone.abort(error);
      this.#connection.destroy();
    } finally {
      await this.stdin?.end();
      await this.resizes?.end();
    }
  }

  async #receive(message: Buffer): Promise<void> {
    const { protocol } = this.#options;
    const received = decodeChannelMessage(message, protocol);
    if (received === undefined) return;
    if (protocol.closes && received.channel === closeSignal) {
      await this.#incoming(received.data[0])?.end();
      return;
    }
    // What nobody reads is dropped, as is what belongs to no channel.
    await this.#incoming(received.channel)
      ?.write(received.data)
      .catch(() => {});
  }

  #incoming(number: number | undefined): BytePipe | undefined {
    if (number === channel.stdin) return this.stdin;
    return number === channel.resize ? this.resizes : undefined;
  }

  #sink(number: number): ByteSink {
    return {
      write: async (bytes) => {
        for (let offset = 0; offset < bytes.length; offset += maxPayloadBytes) {
          await this.#send(number, Buffer.from(bytes.subarray(offset, offset + maxPayloadBytes)));
        }
      },
      // The channels of a server have no end of their own.
      end: async () => {},
    };
  }

  async #send(number: number, data: Buffer): Promise<void> {
    const { protocol } = this.#options;
    await this.#webSocket.send(encodeChannelMessage({ channel: number, data }, protocol), {
      text: protocol.base64,
    });
  }
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ConnectionGone)) throw error;
}
