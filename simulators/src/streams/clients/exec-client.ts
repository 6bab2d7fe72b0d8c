/**
 * A client of exec and attach, over SPDY or WebSocket, for tests: what a person types and reads, and the connection itself to be ended
 * in whatever way.
 */

import { ConnectionGone } from '../byte-connection.ts';
import { readAll, type ByteSink, type ByteSource } from '../byte-pipe.ts';
import type { SocketConnection } from '../socket-connection.ts';
import type { TerminalSize } from '../processes/program.ts';
import type { RemoteCommandOptions } from '../remote-streams.ts';
import { openUpgrade, type StreamTarget } from './open-upgrade.ts';
import { openSpdyCommand, spdyAsk } from './spdy-command.ts';
import { openWebSocketCommand, webSocketAsk } from './websocket-command.ts';

export interface ExecRequest extends Partial<RemoteCommandOptions> {
  readonly via: 'spdy' | 'websocket';
  /** Default: exec. */
  readonly subresource?: 'exec' | 'attach';
  /** Default: `default`. */
  readonly namespace?: string;
  readonly pod: string;
  readonly container?: string;
  /** For exec. */
  readonly command?: readonly string[];
  /** What is offered, in order, each in a field of its own over SPDY. Default: v4 and older over SPDY, v5 over WebSocket. */
  readonly protocols?: readonly string[];
  /** Gives up before the answer. */
  readonly signal?: AbortSignal;
}

/** How the command ended, as the server says. */
export interface ExecExit {
  /** Undefined when it did not end by itself. */
  readonly code: number | undefined;
  /** The error stream as it came: a Status as JSON from v4 on. */
  readonly status: string;
}

/** What the protocols give. */
export interface CommandStreams {
  readonly stdin: ByteSink | undefined;
  readonly stdout: ByteSource;
  readonly stderr: ByteSource;
  readonly exit: Promise<ExecExit>;
  resize(size: TerminalSize): Promise<void>;
  ping(): Promise<void>;
  /** Says goodbye, without ending the connection. */
  goodbye(): Promise<void>;
}

export class ExecClient implements AsyncDisposable {
  /** The connection below: byte counters, and ways to end it. */
  readonly connection: SocketConnection;
  /** What the server chose. */
  readonly protocol: string;
  /** Undefined unless it was asked for. `end()` is a half-close, which v4 over WebSocket does not have: there it does nothing. */
  readonly stdin: ByteSink | undefined;
  readonly stdout: ByteSource;
  readonly stderr: ByteSource;
  /** Rejects when the connection ends before the command does. */
  readonly exit: Promise<ExecExit>;
  readonly #streams: CommandStreams;

  private constructor(connection: SocketConnection, protocol: string, streams: CommandStreams) {
    this.connection = connection;
    this.protocol = protocol;
    this.stdin = streams.stdin;
    this.stdout = streams.stdout;
    this.stderr = streams.stderr;
    this.exit = streams.exit;
    this.#streams = streams;
    // Not everybody waits for it.
    this.exit.catch(() => {});
  }

  /** Resolves when all streams are there. Rejects with UpgradeRefused, or with what is wrong with the connection. */
  static async open(target: StreamTarget, request: ExecRequest): Promise<ExecClient> {
    const options = {
      stdin: request.stdin ?? false,
      stdout: request.stdout ?? true,
      stderr: request.stderr ?? request.tty !== true,
      tty: request.tty ?? false,
    };
    const ask = request.via === 'spdy' ? spdyAsk(request.protocols) : webSocketAsk(request.protocols);
    const { connection, fields } = await openUpgrade(target, {
      ...ask,
      path: pathOf(request, options),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
    try {
      const open = request.via === 'spdy' ? openSpdyCommand : openWebSocketCommand;
      const { protocol, streams } = await open(connection, fields, options);
      return new ExecClient(connection, protocol, streams);
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  async resize(size: TerminalSize): Promise<void> {
    await this.#streams.resize(size);
  }

  /** Resolves when it has come back. */
  async ping(): Promise<void> {
    await this.#streams.ping();
  }

  /** Everything that the command writes, and how it ends. */
  async collect(): Promise<ExecExit & { readonly stdout: Buffer; readonly stderr: Buffer }> {
    const [stdout, stderr, exit] = await Promise.all([readAll(this.stdout), readAll(this.stderr), this.exit]);
    return { ...exit, stdout, stderr };
  }

  /** Says goodbye in the protocol's way, and ends the connection; cuts it when the server does not do the same in time. */
  async close({ timeoutMs = 5000 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    await this.#streams.goodbye().catch((error: unknown) => {
      if (!(error instanceof ConnectionGone)) throw error;
    });
    this.connection.end();
    const limit = setTimeout(() => this.connection.destroy(), timeoutMs);
    await this.connection.closed;
    clearTimeout(limit);
  }

  /** Cuts the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.destroy();
    await this.connection.closed;
  }
}

function pathOf(request: ExecRequest, options: RemoteCommandOptions): string {
  const { namespace = 'default', subresource = 'exec', pod, container, command = [] } = request;
  const query = new URLSearchParams();
  for (const word of command) query.append('command', word);
  if (container !== undefined) query.append('container', container);
  for (const [name, asked] of Object.entries(options)) if (asked) query.append(name, 'true');
  return `/api/v1/namespaces/${namespace}/pods/${pod}/${subresource}?${query.toString()}`;
}
