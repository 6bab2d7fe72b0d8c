/** The streams of a remote command over SPDY: the client opens one for each, and says by a field what it is for. */

import type { Clock } from '../../kube-apiserver/clock.ts';
import type { SocketConnection } from '../socket-connection.ts';
import {
  failureText,
  statusOf,
  type CommandOutcome,
  type RemoteCommandOptions,
  type RemoteStreams,
} from '../remote-streams.ts';
import { SpdySession } from '../spdy/session.ts';
import type { SpdyStream } from '../spdy/stream.ts';
import type { StreamEnding } from './stream-ending.ts';

/** In the order of preference of a client; what the kubelet speaks. */
export const spdyCommandProtocols: readonly string[] = [
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
];

export interface SpdyCommandOptions extends RemoteCommandOptions {
  readonly protocol: string;
  readonly ending: StreamEnding;
  /** How long the client may take to open all streams. */
  readonly streamCreationTimeoutMs: number;
  readonly clock: Clock;
}

export class SpdyRemoteStreams implements RemoteStreams {
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  readonly resizes: SpdyStream | undefined;
  readonly gone: AbortSignal;
  readonly #error: SpdyStream | undefined;
  readonly #session: SpdySession;
  readonly #connection: SocketConnection;
  readonly #options: SpdyCommandOptions;

  private constructor(
    streams: ReadonlyMap<string, SpdyStream>,
    session: SpdySession,
    connection: SocketConnection,
    options: SpdyCommandOptions,
    gone: AbortSignal,
  ) {
    this.stdin = streams.get('stdin');
    this.stdout = streams.get('stdout');
    this.stderr = streams.get('stderr');
    this.resizes = streams.get('resize');
    this.#error = streams.get('error');
    this.#session = session;
    this.#connection = connection;
    this.#options = options;
    this.gone = gone;
  }

  /** Undefined when the client is gone, or too slow, before all streams are there; then the connection is over. */
  static async open(
    connection: SocketConnection,
    options: SpdyCommandOptions,
  ): Promise<SpdyRemoteStreams | undefined> {
    const expected = expectedStreams(options);
    const streams = new Map<string, SpdyStream>();
    const complete = Promise.withResolvers<'complete' | 'over'>();
    const gone = new AbortController();
    const session = new SpdySession(connection, {
      role: 'server',
      atEnd: 'end-streams',
      accept: (fields) => {
        const type = fields.get('streamtype') ?? '';
        return expected.has(type) && !streams.has(type);
      },
      opened(stream) {
        streams.set(stream.fields.get('streamtype') ?? '', stream);
        if (streams.size === expected.size) complete.resolve('complete');
      },
    });
    void session
      .run()
      .then(() => {
        // With its input at an end a command may go on; who has none, or has said goodbye, has gone.
        if (options.stdin && !session.goneAway) return;
        gone.abort();
        connection.end();
      })
      .catch((error: unknown) => {
        gone.abort(error);
        connection.destroy();
      })
      .finally(() => complete.resolve('over'));
    void connection.closed.then(() => gone.abort());
    const limit = options.clock.setTimeout(() => complete.resolve('over'), options.streamCreationTimeoutMs);
    const outcome = await complete.promise;
    limit.cancel();
    if (outcome === 'over') {
      session.destroy();
      return undefined;
    }
    return new SpdyRemoteStreams(streams, session, connection, options, gone.signal);
  }

  async finish(outcome: CommandOutcome): Promise<void> {
    const { ending, protocol } = this.#options;
    const text =
      protocol === 'v4.channel.k8s.io'
        ? JSON.stringify(statusOf(outcome, { by: 'runtime' }))
        : failureText(outcome);
    await this.stdout?.end();
    await this.stderr?.end();
    if (text !== '') await this.#error?.write(Buffer.from(text));
    await this.#error?.end();
    if (ending !== 'fin-only') {
      await this.#session.resetStreams();
      await this.#session.goAway();
    }
    if (ending !== 'goodbye-only') this.#connection.end();
  }
}

function expectedStreams({ stdin, stdout, stderr, tty, protocol }: SpdyCommandOptions): ReadonlySet<string> {
  const resizes = tty && (protocol.startsWith('v4.') || protocol.startsWith('v3.'));
  return new Set([
    'error',
    ...(stdin ? ['stdin'] : []),
    ...(stdout ? ['stdout'] : []),
    ...(stderr ? ['stderr'] : []),
    ...(resizes ? ['resize'] : []),
  ]);
}
