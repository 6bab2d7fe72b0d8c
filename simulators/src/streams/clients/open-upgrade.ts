/** Asks a server to switch protocols, over a connection of its own, and gives the connection away when it does. */

import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { SocketConnection } from '../socket-connection.ts';

export interface StreamTarget {
  /** With whatever comes before the path of the API; `https` or `http`. */
  readonly url: string;
  /** For each request: Authorization, above all. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: Pick<
    tls.ConnectionOptions,
    'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized' | 'ALPNProtocols'
  >;
}

export interface UpgradeAsk {
  readonly method: 'GET' | 'POST';
  /** With its query. */
  readonly path: string;
  /** In order; repeated names stay repeated. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Gives up. */
  readonly signal?: AbortSignal;
}

export interface SwitchedConnection {
  readonly connection: SocketConnection;
  /** Of the 101: lower case, the values of a repeated one in their order. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
}

/** The server has answered something else than 101. */
export class UpgradeRefused extends Error {
  readonly status: number;
  readonly fields: ReadonlyMap<string, readonly string[]>;
  /** What came within its connection's life, at most 2 MB, chunks taken apart. */
  readonly body: string;

  constructor(status: number, fields: ReadonlyMap<string, readonly string[]>, body: string) {
    super(`the upgrade was refused with ${status}: ${body.slice(0, 300)}`);
    this.name = 'UpgradeRefused';
    this.status = status;
    this.fields = fields;
    this.body = body;
  }
}

const maxHeadBytes = 65_536;
const maxBodyBytes = 2 * 1024 * 1024;

/** Rejects with UpgradeRefused, or with what went wrong with the connection. */
export async function openUpgrade(target: StreamTarget, ask: UpgradeAsk): Promise<SwitchedConnection> {
  const url = new URL(target.url);
  const socket = await connect(url, target, ask.signal);
  const abort = (): void => {
    socket.destroy(new Error('given up'));
  };
  ask.signal?.addEventListener('abort', abort, { once: true });
  try {
    const lines = [
      `${ask.method} ${url.pathname.replace(/\/$/, '')}${ask.path} HTTP/1.1`,
      `Host: ${url.host}`,
      ...(ask.method === 'POST' ? ['Content-Length: 0'] : []),
      ...[...Object.entries(target.headers ?? {}), ...ask.fields].map(([name, value]) => `${name}: ${value}`),
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    const { head, rest } = await readHead(socket);
    const { status, fields } = parseHead(head);
    if (status !== 101) throw new UpgradeRefused(status, fields, await readBody(socket, rest, fields));
    return { connection: new SocketConnection(socket, rest), fields };
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    ask.signal?.removeEventListener('abort', abort);
  }
}

async function connect(url: URL, target: StreamTarget, signal: AbortSignal | undefined): Promise<Socket> {
  signal?.throwIfAborted();
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port) || (secure ? 443 : 80);
  const socket = secure
    ? tls.connect({ host, port, ALPNProtocols: ['http/1.1'], ...target.tls })
    : net.connect({ host, port });
  await once(socket, secure ? 'secureConnect' : 'connect', signal === undefined ? {} : { signal }).catch(
    (error) => {
      socket.destroy();
      throw error;
    },
  );
  // Nothing is read until somebody waits for it, so that an error is told by then.
  socket.on('error', () => {});
  return socket;
}

async function readHead(socket: Socket): Promise<{ readonly head: string; readonly rest: Buffer }> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const chunk = await readSome(socket);
    if (chunk === undefined) throw new Error('the connection ended before there was an answer');
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.indexOf('\r\n\r\n');
    if (end >= 0) return { head: bytes.toString('latin1', 0, end), rest: bytes.subarray(end + 4) };
    if (bytes.length > maxHeadBytes) throw new Error('the head of the answer has no end');
  }
}

/** Undefined at the end. */
async function readSome(socket: Socket): Promise<Buffer | undefined> {
  for (;;) {
    const chunk: unknown = socket.read();
    if (Buffer.isBuffer(chunk)) return chunk;
    if (socket.readableEnded) return undefined;
    if (socket.errored !== null) throw socket.errored;
    if (socket.destroyed) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => resolve();
    for (const event of ['readable', 'end', 'close']) socket.once(event, look);
    await promise;
    for (const event of ['readable', 'end', 'close']) socket.off(event, look);
  }
}

function parseHead(head: string): { status: number; fields: Map<string, string[]> } {
  const [statusLine = '', ...lines] = head.split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) throw new Error('the answer is not HTTP/1.1');
  const fields = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    fields.set(name, [...(fields.get(name) ?? []), line.slice(colon + 1).trim()]);
  }
  return { status, fields };
}

async function readBody(
  socket: Socket,
  rest: Buffer,
  fields: ReadonlyMap<string, readonly string[]>,
): Promise<string> {
  const length = Number(fields.get('content-length')?.[0] ?? Number.POSITIVE_INFINITY);
  const chunked = fields.get('transfer-encoding')?.includes('chunked') === true;
  let body = rest;
  const complete = (): boolean =>
    body.length >= Math.min(length, maxBodyBytes) || (chunked && body.includes('0\r\n\r\n'));
  while (!complete()) {
    const chunk = await readSome(socket);
    if (chunk === undefined) break;
    body = Buffer.concat([body, chunk]);
  }
  return chunked ? joined(body.toString('latin1')) : body.toString();
}

function joined(chunks: string): string {
  let body = '';
  let rest = chunks;
  for (;;) {
    const [, size = '', from] = /^([0-9a-f]+)\r\n()/i.exec(rest) ?? [];
    if (from === undefined) return body;
    const bytes = Number.parseInt(size, 16);
    if (bytes === 0) return body;
    const start = size.length + 2;
    body += rest.slice(start, start + bytes);
    rest = rest.slice(start + bytes + 2);
  }
}
