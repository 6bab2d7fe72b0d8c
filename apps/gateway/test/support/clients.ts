/** Clients of the gateway: a plain one, one that writes bytes as they are, and one over HTTP/2. One connection a request. */

import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { authority } from './gateway-rig.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface AskOptions {
  readonly method?: string;
  /** Flat list, sent as it is. */
  readonly fields?: readonly string[];
  readonly body?: string | Buffer;
  readonly cert?: string;
  readonly key?: string;
}

/** The answer's head, its body unread. */
export async function open(base: string, path: string, options: AskOptions = {}): Promise<IncomingMessage> {
  const { hostname, port, protocol, host } = new URL(base);
  const { method = 'GET', fields = [], body, cert, key } = options;
  const request = protocol === 'https:' ? requestHttps : requestHttp;
  const named = fields.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))];
  const outgoing = request({
    hostname,
    port,
    path,
    method,
    agent: false,
    headers: [...(named ? [] : ['host', host]), ...fields, ...length],
    ca: authority.certificatePem,
    cert,
    key,
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  // A reader that is there by then gets it all the same.
  outgoing.on('error', () => undefined);
  response.on('error', () => undefined);
  return response;
}

export async function ask(base: string, path: string, options: AskOptions = {}): Promise<Answer> {
  const response = await open(base, path, options);
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
}

/** A `Status` by its JSON. */
export function statusIn(body: string): { code: number; reason: string; message: string; error: string } {
  const status = JSON.parse(body);
  return {
    code: status.code,
    reason: status.reason,
    message: status.message,
    error: status.details.causes[0].reason,
  };
}

/** A bare connection to the gateway. */
export async function dial(base: string): Promise<Socket> {
  const { hostname, port, protocol } = new URL(base);
  const socket =
    protocol === 'https:'
      ? connectTls({
          host: hostname,
          port: Number(port),
          ca: authority.certificatePem,
          servername: 'localhost',
        })
      : connectTcp(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect');
  return socket;
}

/**
 * Writes these bytes (latin1) and gives back all that comes until the gateway closes the connection.
 *
 * @param end close our direction after what was answered, for a gateway that waits for more
 */
export async function sendRaw(
  base: string,
  bytes: string,
  { end = false }: { readonly end?: boolean } = {},
): Promise<string> {
  const socket = await dial(base);
  socket.write(bytes, 'latin1');
  if (end) {
    socket.once('data', () => setImmediate(() => socket.end()));
  }
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

/** `sendRaw` of a GET that ends its connection; the fields are lines without their end. */
export function sendRawGet(base: string, target: string, ...fields: string[]): Promise<string> {
  const { host } = new URL(base);
  return sendRaw(
    base,
    `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`,
  );
}

/** The status line's number. */
export function codeOf(raw: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(raw)?.[1]);
}

export interface Http2Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export async function dialHttp2(
  base: string,
  credentials: { cert?: string; key?: string } = {},
): Promise<ClientHttp2Session & AsyncDisposable> {
  const session = connectHttp2(base, {
    ca: authority.certificatePem,
    servername: 'localhost',
    ...credentials,
  });
  session.on('error', () => undefined);
  await once(session, 'connect');
  return Object.assign(session, {
    [Symbol.asyncDispose]: async () => {
      if (!session.destroyed) {
        const closed = once(session, 'close');
        session.destroy();
        await closed;
      }
    },
  });
}

export async function openHttp2(
  session: ClientHttp2Session,
  headers: Record<string, string | string[]>,
  body?: string,
): Promise<{ stream: ClientHttp2Stream; status: number; headers: IncomingHttpHeaders }> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  return { stream, status: answer[':status'] ?? 0, headers: answer };
}

export async function askHttp2(
  session: ClientHttp2Session,
  headers: Record<string, string | string[]>,
  body?: string,
): Promise<Http2Answer> {
  const opened = await openHttp2(session, headers, body);
  return { status: opened.status, headers: opened.headers, body: await text(opened.stream) };
}
