/**
 * The listener for the people who run a program: health, metrics and whatever the program adds. On loopback unless said
 * otherwise, and then closed to web pages. Plain HTTP, GET and HEAD only, small answers, no state of its own.
 */

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Health, HealthReport } from './health.ts';
import { authorityOf, listen } from './listen.ts';
import type { ListenAddress } from './listen.ts';
import { isLoopbackHost, refuseForeignPage } from './loopback-guard.ts';
import type { Metrics } from './metrics.ts';

export interface AdminAnswer {
  readonly status?: number;
  /** Default: plain text. */
  readonly contentType?: string;
  readonly body: string;
}

export type AdminRoute = (url: URL) => AdminAnswer | Promise<AdminAnswer>;

export interface AdminServerOptions extends ListenAddress {
  /** What to change when the address cannot be used, for the message. */
  readonly option: string;
  readonly livez: Health;
  readonly readyz: Health;
  readonly metrics: Metrics;
  /** By path, for instance `/debug/transports`. */
  readonly routes?: Readonly<Record<string, AdminRoute>>;
  readonly onError: (error: Error) => void;
}

export class AdminServer implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  #closing: Promise<void> | undefined;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** @throws ERR_RH_LISTEN_FAILED */
  static async open(options: AdminServerOptions): Promise<AdminServer> {
    const routes = routesOf(options);
    const guarded = isLoopbackHost(options.host);
    const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
      answer(request, routes, guarded).then(
        (reply) => send(request, response, reply),
        (error: unknown) => {
          options.onError(error instanceof Error ? error : new Error(String(error)));
          send(request, response, { status: 500, body: 'internal error, see the log\n' });
        },
      );
    });
    const address = await listen(server, options, options.option);
    return new AdminServer(server, `http://${authorityOf(address)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closing ??= promise;
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await this.#closing;
  }
}

function routesOf({ livez, readyz, metrics, routes = {} }: AdminServerOptions): Map<string, AdminRoute> {
  const health = (checks: Health) => (url: URL) => {
    const { searchParams } = url;
    const report = checks.report({
      verbose: searchParams.has('verbose'),
      exclude: searchParams.getAll('exclude'),
    });
    return healthAnswer(report);
  };
  const known = new Map<string, AdminRoute>([
    ['/livez', health(livez)],
    ['/readyz', health(readyz)],
    ['/healthz', health(livez)],
    ['/metrics', async () => ({ contentType: metrics.contentType, body: await metrics.text() })],
    ...Object.entries(routes),
  ]);
  known.set('/', () => ({ body: [...known.keys()].toSorted().join('\n').concat('\n') }));
  return known;
}

function healthAnswer({ healthy, text }: HealthReport): AdminAnswer {
  return { status: healthy ? 200 : 500, body: text };
}

async function answer(
  request: IncomingMessage,
  routes: ReadonlyMap<string, AdminRoute>,
  guarded: boolean,
): Promise<AdminAnswer> {
  const reason = guarded ? refuseForeignPage(request.headers.host, request.headers.origin) : undefined;
  if (reason !== undefined) {
    return { status: 403, body: `${reason}\n` };
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, body: 'GET or HEAD only\n' };
  }
  const url = URL.parse(request.url ?? '/', 'http://admin.invalid');
  const route = url === null ? undefined : routes.get(url.pathname);
  if (url === null || route === undefined) {
    return { status: 404, body: `there is: ${[...routes.keys()].join(' ')}\n` };
  }
  return route(url);
}

function send(request: IncomingMessage, response: ServerResponse, reply: AdminAnswer): void {
  const { status = 200, contentType = 'text/plain; charset=utf-8', body } = reply;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}
