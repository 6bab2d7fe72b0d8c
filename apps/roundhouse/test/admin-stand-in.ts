import { createServer, type Server } from 'node:http';
import { once } from 'node:events';

export interface AdminStandIn extends AsyncDisposable {
  readonly url: string;
  /** Path to what is answered as JSON; a function is asked anew each time. Anything else is a 404. */
  readonly answers: Map<string, unknown>;
  readonly requests: string[];
}

/** Answers like a gateway's admin listener, with what a test wants to see printed. */
export async function openAdminStandIn(answers: Readonly<Record<string, unknown>>): Promise<AdminStandIn> {
  const known = new Map(Object.entries(answers));
  const requests: string[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request.url ?? '');
    const answer = known.get(request.url ?? '');
    response.statusCode = answer === undefined ? 404 : 200;
    const body: unknown = typeof answer === 'function' ? answer() : answer;
    response.end(typeof body === 'string' ? body : JSON.stringify(body ?? {}));
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
