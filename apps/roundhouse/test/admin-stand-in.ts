import { createServer, type Server } from 'node:http';
import { once } from 'node:events';

export interface AdminStandIn extends AsyncDisposable {
  readonly url: string;
  /**
   * Path to what is answered as JSON, for other methods than GET behind the method; a function is asked anew each time. What has a
   * `status` is answered with that one, in its `text` if it has one. Anything else is a 404.
   */
  readonly answers: Map<string, unknown>;
  readonly requests: string[];
}

/** Answers like a gateway's admin listener, with what a test wants to see printed. */
export async function openAdminStandIn(answers: Readonly<Record<string, unknown>>): Promise<AdminStandIn> {
  const known = new Map(Object.entries(answers));
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    const { method = 'GET', url = '' } = request;
    requests.push(url);
    const answer = known.get(method === 'GET' ? url : `${method} ${url}`);
    const body: unknown = typeof answer === 'function' ? answer() : answer;
    response.statusCode = answer === undefined ? 404 : statusOf(body);
    response.end(textOf(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    answers: known,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function statusOf(body: unknown): number {
  const { status } = Object(body) as { status?: unknown };
  return typeof status === 'number' ? status : 200;
}

function textOf(body: unknown): string {
  const { text } = Object(body) as { text?: unknown };
  if (typeof text === 'string') return text;
  return typeof body === 'string' ? body : JSON.stringify(body ?? {});
}
