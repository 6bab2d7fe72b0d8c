/**
 * An upstream that streams: every watch gets one event at once and another when the run says so. It speaks HTTP/1.1 and HTTP/2, as a
 * kube-apiserver does. Where nginx is not installed it also serves the files that are otherwise nginx's part.
 */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { answerQuestions } from '../measure/worker.ts';
import { serveExec } from '../upgrades/exec-upstream.ts';

export interface UpstreamOptions {
  readonly certPem: string;
  readonly keyPem: string;
  /** Path to length of the body. */
  readonly bodies: Readonly<Record<string, number>>;
}

/** What Go's server allows, and a kube-apiserver with it. */
const maxConcurrentStreams = 250;

type Response = ServerResponse | Http2ServerResponse;

function upstreamHandlers() {
  /** Each leaves when its client does. */
  const watches = new Set<Response>();
  return {
    /** The port. */
    async listen({ certPem, keyPem, bodies }: UpstreamOptions): Promise<number> {
      const bodyOf = new Map(Object.entries(bodies).map(([path, bytes]) => [path, jsonOfLength(bytes)]));
      const server = createSecureServer({
        allowHTTP1: true,
        cert: certPem,
        key: keyPem,
        settings: { maxConcurrentStreams },
      });
      Object.assign(server, { keepAliveTimeout: 0 });
      server.on('request', (request: IncomingMessage | Http2ServerRequest, response: Response) => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'https://localhost');
        if (searchParams.has('watch')) {
          watches.add(response);
          response.once('close', () => watches.delete(response));
          writeHead(response, { 'content-type': 'application/json' });
          write(response, watchEvent(1));
          return;
        }
        const body = bodyOf.get(pathname);
        if (body === undefined) throw new Error(`nothing at ${pathname}`);
        writeHead(response, { 'content-type': 'application/json', 'content-length': String(body.length) });
        response.end(body);
      });
      server.on('upgrade', serveExec);
      server.listen(0, '127.0.0.1', 8192);
      await once(server, 'listening');
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      return address.port;
    },
    /** Sends the event of that number to all watches; how many there are. */
    sendEvent(event: number): number {
      for (const watch of watches) write(watch, watchEvent(event));
      return watches.size;
    },
  };
}

export type UpstreamHandlers = ReturnType<typeof upstreamHandlers>;

/** A valid answer of the Kubernetes API of exactly that length. */
export function jsonOfLength(bytes: number): Buffer {
  const frame = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', data: { text: '' } });
  const padding = 'x'.repeat(bytes - frame.length);
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', data: { text: padding } }));
}

/** About as large as the event of a small pod. */
function watchEvent(event: number): string {
  const metadata = { name: 'signals', namespace: 'default', resourceVersion: String(event) };
  const object = { apiVersion: 'v1', kind: 'Pod', metadata, status: { message: 'x'.repeat(800) } };
  return `${JSON.stringify({ type: 'MODIFIED', object })}\n`;
}

/** The two kinds of response have methods of the same shape, but no type in common. */
function writeHead(response: Response, fields: Record<string, string>): void {
  for (const [name, value] of Object.entries(fields)) response.setHeader(name, value);
  response.statusCode = 200;
}

function write(response: Response, text: string): void {
  if ('stream' in response) response.write(text);
  else response.write(text);
}

if (import.meta.main) answerQuestions(upstreamHandlers());
