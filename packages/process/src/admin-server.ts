/**
 * The listener for the people who run a program: health, metrics and whatever the program adds. On loopback unless said
 * otherwise, and then closed to web pages. Plain HTTP, small answers, no state of its own. It asks nobody who they are: what it
 * shows is for whoever reaches it, and what it does is for whoever is on this machine.
 */

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Health, HealthReport } from './health.ts';
import { authorityOf, listen } from './listen.ts';
import type { ListenAddress } from './listen.ts';
import { isLoopbackHost, refuseForeignPage, refuseFromElsewhere } from './loopback-guard.ts';
import type { Metrics } from './metrics.ts';

export interface AdminAnswer {
  readonly status?: number;
  /** Default: plain text. */
  readonly contentType?: string;
  readonly body: string;
}

export type AdminRoute = (url: URL) => AdminAnswer | Promise<AdminAnswer>;

/** What changes something. It is asked for with POST; all that it is told is in the URL. */
export interface AdminActions {
  /** By path. */
  readonly routes: Readonly<Record<string, AdminRoute>>;
  /** Take them from other machines, too, where the address is one that these reach. */
  readonly fromAnywhere: boolean;
  /** What to change for that, for the message. */
  readonly option: string;
}

export interface AdminServerOptions extends ListenAddress {
  /** What to change when the address cannot be used, for the message. */
  readonly option: string;
  readonly livez: Health;
  readonly readyz: Health;
  readonly metrics: Metrics;
  /** By path, for instance `/debug/transports`. They show something, and are asked for with GET or HEAD. */
  readonly routes?: Readonly<Record<string, AdminRoute>>;
  readonly actions?: AdminActions;
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
    const entries = entriesOf(options);
    const guard = guardOf(options);
    const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
      answer(request, entries, guard).then(
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

interface Entry {
  /** Whether it changes something. */
  readonly acts: boolean;
  readonly route: AdminRoute;
}

function entriesOf({
  livez,
  readyz,
  metrics,
  routes = {},
  actions,
}: AdminServerOptions): ReadonlyMap<string, Entry> {
  const health = (checks: Health) => (url: URL) => {
    const { searchParams } = url;
    const report = checks.report({
      verbose: searchParams.has('verbose'),
      exclude: searchParams.getAll('exclude'),
    });
    return healthAnswer(report);
  };
  const known = new Map<string, Entry>();
  const add = (acts: boolean, added: Readonly<Record<string, AdminRoute>>): void => {
    for (const [path, route] of Object.entries(added)) {
      known.set(path, { acts, route });
    }
  };
  add(false, {
    '/livez': health(livez),
    '/readyz': health(readyz),
    '/healthz': health(livez),
    '/metrics': async () => ({ contentType: metrics.contentType, body: await metrics.text() }),
    ...routes,
    '/': () => ({ body: [...known.keys()].toSorted().join('\n').concat('\n') }),
  });
  add(true, actions?.routes ?? {});
  return known;
}

type Guard = (request: IncomingMessage, acts: boolean) => string | undefined;

/** Why a request is turned away; undefined when it may come in. */
function guardOf({ host: address, actions }: AdminServerOptions): Guard {
  const local = isLoopbackHost(address);
  return ({ headers: { host, origin }, socket }, acts) => {
    if (local) {
      return refuseForeignPage(host, origin);
    }
    if (!acts || actions === undefined) {
      return undefined;
    }
    if (actions.fromAnywhere) {
      // Any name may lead here, so that only this tells a page.
      return origin === undefined ? undefined : 'actions are not taken from web pages';
    }
    const reason = refuseFromElsewhere(socket.remoteAddress) ?? refuseForeignPage(host, origin);
    return reason === undefined
      ? undefined
      : `actions are taken at a loopback address of this machine only, unless ${actions.option} says otherwise: ${reason}`;
  };
}

function healthAnswer({ healthy, text }: HealthReport): AdminAnswer {
  return { status: healthy ? 200 : 500, body: text };
}

async function answer(
  request: IncomingMessage,
  entries: ReadonlyMap<string, Entry>,
  guard: Guard,
): Promise<Answer> {
  const url = URL.parse(request.url ?? '/', 'http://admin.invalid');
  const entry = url === null ? undefined : entries.get(url.pathname);
  const reason = guard(request, entry?.acts ?? false);
  if (reason !== undefined) {
    return { status: 403, body: `${reason}\n` };
  }
  if (url === null || entry === undefined) {
    return { status: 404, body: `there is: ${[...entries.keys()].join(' ')}\n` };
  }
  const methods = entry.acts ? ['POST'] : ['GET', 'HEAD'];
  if (!methods.includes(request.method ?? '')) {
    return { status: 405, body: `${methods.join(' or ')} only\n`, allow: methods };
  }
  return entry.route(url);
}

interface Answer extends AdminAnswer {
  readonly allow?: readonly string[];
}

function send(request: IncomingMessage, response: ServerResponse, reply: Answer): void {
  const { status = 200, contentType = 'text/plain; charset=utf-8', body, allow } = reply;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(allow !== undefined && { allow: allow.join(', ') }),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}
