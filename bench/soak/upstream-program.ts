/** The clusters of a soak: one endpoint a port, each asks for a client certificate, some speak HTTP/2. They err on demand. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, createSecureServer } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { answerQuestions } from '../measure/worker.ts';
import { serveExec } from '../upgrades/exec-upstream.ts';

export interface UpstreamOptions {
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
  readonly endpoints: number;
}

/**
 * - `/ok`: 200. - `/busy`: 503 with a body. - `/cut`: the connection ends within the body. - `/reset`: it ends before any answer.
 * - `/silent`: never answered. - `/watch`: an event, and no end.
 */
export type SoakPath = '/ok' | '/busy' | '/cut' | '/reset' | '/silent' | '/watch';

type Response = ServerResponse | Http2ServerResponse;

const answer = Buffer.from(
  JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', data: { text: 'x'.repeat(900) } }),
);
const status = Buffer.from(
  JSON.stringify({ kind: 'Status', apiVersion: 'v1', code: 503, message: 'x'.repeat(400) }),
);

function upstreamHandlers() {
  return {
    /** The ports; every second speaks HTTP/2 too. */
    async listen({ caPem, certPem, keyPem, endpoints }: UpstreamOptions): Promise<readonly number[]> {
      const ports: number[] = [];
      for (let index = 0; index < endpoints; index += 1) {
        const server = createSecureServer({
          allowHTTP1: true,
          ...(index % 2 === 0 && { ALPNProtocols: ['http/1.1'] }),
          ca: caPem,
          cert: certPem,
          key: keyPem,
          requestCert: true,
          rejectUnauthorized: true,
        });
        Object.assign(server, { keepAliveTimeout: 0 });
        server.on('request', serve);
        server.on('upgrade', serveExec);
        // What a soak does to connections is not this program's error.
        server.on('clientError', () => undefined);
        server.on('sessionError', () => undefined);
        server.listen(0, '127.0.0.1', 1_024);
        await once(server, 'listening');
        const address = server.address();
        if (address === null || typeof address === 'string') throw new Error('no port');
        ports.push(address.port);
      }
      return ports;
    },
  };
}

export type SoakUpstreamHandlers = ReturnType<typeof upstreamHandlers>;

function serve(request: IncomingMessage | Http2ServerRequest, response: Response): void {
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  request.resume();
  switch (request.url) {
    case '/ok':
      return send(response, 200, answer);
    case '/busy':
      return send(response, 503, status);
    case '/cut':
      response.statusCode = 200;
      response.setHeader('content-length', String(2 * answer.length));
      write(response, answer);
      setImmediate(() => cut(request));
      return;
    case '/reset':
      return cut(request);
    case '/silent':
      return;
    case '/watch':
      response.statusCode = 200;
      write(response, answer);
      return;
    default:
      send(response, 404, status);
  }
}

function send(response: Response, code: number, body: Buffer): void {
  response.statusCode = code;
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', String(body.length));
  response.end(body);
}

/** The two kinds of response have methods of the same shape, but no type in common. */
function write(response: Response, body: Buffer): void {
  if ('stream' in response) response.write(body);
  else response.write(body);
}

/** Over HTTP/2 the stream alone: what else is on the session is to be answered. */
function cut(request: IncomingMessage | Http2ServerRequest): void {
  if ('stream' in request) request.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else request.socket.destroy();
}

if (import.meta.main) answerQuestions(upstreamHandlers());
