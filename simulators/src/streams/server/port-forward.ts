/**
 * Port-forwarding as the kubelet does it (k8s.io/kubelet/pkg/cri/streaming/portforward): a SPDY session on which the client opens two
 * streams for each connection, one for its bytes and one for what is to be said of its failure.
 */

import type { Clock, Timer } from '../../kube-apiserver/clock.ts';
import type { ByteConnection } from '../byte-connection.ts';
import { podConnection, type PodConnection, type PodServer } from '../pod-servers/pod-connection.ts';
import type { SpdyFields } from '../spdy/fields.ts';
import { SpdySession } from '../spdy/session.ts';
import type { SpdyStream } from '../spdy/stream.ts';

export const portForwardProtocol = 'portforward.k8s.io';
/** SPDY in the messages of a WebSocket. */
export const tunnelProtocol = `SPDY/3.1+${portForwardProtocol}`;

export interface PortForwardOptions {
  /** For messages. */
  readonly pod: string;
  readonly servers: ReadonlyMap<number, PodServer>;
  /** Aborted when the pod stops. */
  readonly stopped: AbortSignal;
  /** How long a client may take for the second stream of a pair. */
  readonly streamCreationTimeoutMs: number;
  readonly clock: Clock;
}

interface StreamPair {
  data?: SpdyStream;
  error?: SpdyStream;
  readonly limit: Timer;
}

/** Resolves when the client has ended the session, or it was cut. Never rejects. */
export async function servePortForward(
  connection: ByteConnection,
  options: PortForwardOptions,
): Promise<void> {
  const forward = new PortForward(options);
  const session = new SpdySession(connection, {
    role: 'server',
    accept: isForwardStream,
    opened: (stream) => forward.add(stream),
  });
  const stop = (): void => session.destroy();
  options.stopped.addEventListener('abort', stop, { once: true });
  if (options.stopped.aborted) stop();
  try {
    await session.run();
    connection.end();
  } catch {
    // Whatever it was, there is nobody left to tell.
    connection.destroy();
  } finally {
    options.stopped.removeEventListener('abort', stop);
    forward.dispose();
  }
}

function isForwardStream(fields: SpdyFields): boolean {
  const port = Number(fields.get('port'));
  const type = fields.get('streamtype');
  return Number.isInteger(port) && port > 0 && port < 65_536 && (type === 'data' || type === 'error');
}

class PortForward {
  readonly #options: PortForwardOptions;
  /** Of which the second stream is not there yet, by request id; bounded by the session's streams. */
  readonly #pairs = new Map<string, StreamPair>();

  constructor(options: PortForwardOptions) {
    this.#options = options;
  }

  add(stream: SpdyStream): void {
    const type = stream.fields.get('streamtype') === 'data' ? 'data' : 'error';
    // Old clients give no id, and open the two streams one after the other.
    const id = stream.fields.get('requestid') ?? String(type === 'error' ? stream.id : stream.id - 2);
    const pair = this.#pairs.get(id) ?? { limit: this.#limit(id) };
    if (pair[type] !== undefined) {
      void stream.reset().catch(() => {});
      return;
    }
    pair[type] = stream;
    this.#pairs.set(id, pair);
    const { data, error } = pair;
    if (data === undefined || error === undefined) return;
    pair.limit.cancel();
    this.#pairs.delete(id);
    void this.#forward(data, error);
  }

  dispose(): void {
    for (const { limit } of this.#pairs.values()) limit.cancel();
    this.#pairs.clear();
  }

  #limit(id: string): Timer {
    return this.#options.clock.setTimeout(() => {
      const { data, error } = this.#pairs.get(id) ?? {};
      this.#pairs.delete(id);
      void data?.reset().catch(() => {});
      void error?.write(Buffer.from(`(request=${id}) timed out waiting for streams`)).catch(() => {});
    }, this.#options.streamCreationTimeoutMs);
  }

  /** Never rejects: what goes wrong with one connection is told on its error stream. */
  async #forward(data: SpdyStream, error: SpdyStream): Promise<void> {
    const { pod, servers } = this.#options;
    const port = Number(data.fields.get('port'));
    try {
      const server = servers.get(port);
      if (server === undefined) throw new Error(refused(port));
      await relay(data, server);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      const text = `error forwarding port ${port} to pod ${pod}, uid : ${why}`;
      await error.write(Buffer.from(text)).catch(() => {});
    }
    await data.end().catch(() => {});
    await error.end().catch(() => {});
    data.stopReading();
    error.stopReading();
  }
}

/** Rejects when the server resets the connection, or the client its stream. */
async function relay(data: SpdyStream, server: PodServer): Promise<void> {
  const { inside, outside } = podConnection();
  // A server that fails resets its connection, which is what is told.
  const served = server(inside).then(
    async () => inside.end(),
    () => inside.reset(),
  );
  try {
    await Promise.all([copyIn(data, outside), copyOut(outside, data), served]);
  } finally {
    outside.reset();
    await served;
  }
}

async function copyIn(data: SpdyStream, outside: PodConnection): Promise<void> {
  for (let bytes = await data.read(); bytes !== undefined; bytes = await data.read()) {
    // A server that reads no more may still have something to say.
    await outside.write(bytes).catch(() => {});
  }
  await outside.end();
}

async function copyOut(outside: PodConnection, data: SpdyStream): Promise<void> {
  try {
    for (let bytes = await outside.read(); bytes !== undefined; bytes = await outside.read())
      await data.write(bytes);
    await data.end();
    // Nothing is read any more by who has ended.
    data.stopReading();
  } catch (error) {
    // Ends the other direction, too.
    data.stopReading();
    throw error;
  }
}

function refused(port: number): string {
  return (
    `failed to execute portforward in network namespace "/var/run/netns/cni-0": failed to connect to localhost:${port} inside ` +
    `namespace "0", IPv4: dial tcp4 127.0.0.1:${port}: connect: connection refused IPv6 dial tcp6: address localhost: no suitable ` +
    'address found '
  );
}
