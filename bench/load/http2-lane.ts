/** HTTP/2 over TLS: several lanes share a session, as the requests of one client do. */

import { once } from 'node:events';
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import type { Ask, Lane } from './lane.ts';

/** What a client of an HTTP/2 server usually allows it; the protocol's own 64 KiB would make each large answer wait. */
const windowBytes = 4_194_304;

export async function openSession({ url, caPem }: Ask): Promise<ClientHttp2Session> {
  const session = connect(new URL(url).origin, {
    ca: caPem,
    servername: 'localhost',
    settings: { enablePush: false, initialWindowSize: windowBytes },
  });
  await once(session, 'connect');
  session.setLocalWindowSize(windowBytes);
  return session;
}

export class Http2Lane implements Lane {
  readonly #session: ClientHttp2Session;
  readonly #path: string;
  readonly #bodyBytes: number;

  constructor(session: ClientHttp2Session, { url, bodyBytes }: Ask) {
    const { pathname, search } = new URL(url);
    this.#session = session;
    this.#path = pathname + search;
    this.#bodyBytes = bodyBytes;
  }

  exchange(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stream = this.#session.request({ ':path': this.#path, accept: 'application/json' });
    let status = 0;
    let bytes = 0;
    stream.on('response', (headers) => (status = headers[':status'] ?? 0));
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    stream.on('error', reject);
    stream.on('end', () => {
      if (status === 200 && bytes === this.#bodyBytes) resolve();
      else reject(new Error(`not the expected answer: ${status} with ${bytes} bytes`));
    });
    return promise;
  }

  close(): void {
    this.#session.destroy();
  }
}
