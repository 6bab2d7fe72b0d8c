/** `fetch` with an authority of its own, which the one of Node.js cannot be given; and with nothing of ours in between. */

import { once } from 'node:events';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/** @param caPem whom the server has to be certified by */
export function httpsFetch(caPem: string): Fetch {
  return async (url, { method = 'GET', headers, body, signal } = {}) => {
    const bytes = bytesOf(body);
    const sent = request(url, {
      method,
      ca: caPem,
      headers: {
        accept: '*/*',
        // Without it, what follows the head of a DELETE would pass for the next request.
        ...(bytes === undefined ? {} : { 'content-length': Buffer.byteLength(bytes) }),
        ...Object.fromEntries(new Headers(headers)),
      },
      ...(signal === null || signal === undefined ? {} : { signal }),
    });
    sent.end(bytes);
    const [answer]: IncomingMessage[] = await once(sent, 'response');
    if (answer === undefined) throw new Error('a response without a response');
    const fields = new Headers();
    for (let index = 0; index < answer.rawHeaders.length; index += 2)
      fields.append(answer.rawHeaders[index] ?? '', answer.rawHeaders[index + 1] ?? '');
    const { statusCode: status = 0 } = answer;
    return new Response(status === 204 || status === 304 ? null : Readable.toWeb(answer), {
      status,
      headers: fields,
    });
  };
}

function bytesOf(body: RequestInit['body']): string | Uint8Array | undefined {
  if (body === null || body === undefined) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  throw new TypeError('a body is text or bytes here');
}
