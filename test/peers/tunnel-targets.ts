/** What tunnels lead to in the suites, and how they are asked for it. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { TunnelDialerOptions } from '@roundhouse/konnectivity';
import { TlsMaterial } from '@roundhouse/transport';
import type { KonnectivityPair } from './konnectivity-pair.ts';

const pieceBytes = 64 * 1024;

/** Over TCP, with the client certificate of the pair. */
export async function optionsFor({
  address,
  files,
}: KonnectivityPair): Promise<Pick<TunnelDialerOptions, 'servers' | 'tls'>> {
  const [ca, cert, key] = await Promise.all(
    [files.serverCa, files.clientCert, files.clientKey].map(async (file) => readFile(file)),
  );
  return { servers: [address], tls: { material: TlsMaterial.fromPem({ ca, cert, key }) } };
}

/** On 127.0.0.1, until the resources are disposed of; resolves with `host:port`. */
export async function listenFor(server: Server, resources: AsyncDisposableStack): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  resources.use(server);
  const { port } = server.address() as AddressInfo;
  return `127.0.0.1:${port}`;
}

/** GET / over a connection that is for this request alone. */
export async function getOnce(connection: Duplex): Promise<string> {
  const asked = request({
    createConnection: () => connection,
    host: 'target',
    headers: { connection: 'close' },
  });
  asked.end();
  const [answer]: IncomingMessage[] = await once(asked, 'response');
  return answer === undefined ? '' : text(answer);
}

/** Sends so many bytes, whole pieces of 64 KiB, to whoever has said something. */
export function sourceOf(bytes: number): Server {
  const piece = pieceOfSource();
  return createServer((socket) => {
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        left -= piece.length;
        if (!socket.write(piece)) return;
      }
      socket.off('drain', more).end();
    };
    socket
      .on('error', () => {})
      .once('data', more)
      .on('drain', more);
  });
}

/** Of all that it sends, in hexadecimal. */
export function digestOfSource(bytes: number): string {
  const hash = createHash('sha256');
  const piece = pieceOfSource();
  for (let sent = 0; sent < bytes; sent += piece.length) hash.update(piece);
  return hash.digest('hex');
}

function pieceOfSource(): Buffer {
  return Buffer.from(Array.from({ length: pieceBytes }, (_, index) => (index * 31) % 251));
}

/** Answers so many bytes with their digest in hexadecimal. */
export function sinkOf(bytes: number): Server {
  return createServer((socket) => {
    const hash = createHash('sha256');
    let left = bytes;
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        hash.update(chunk);
        left -= chunk.length;
        if (left === 0) socket.end(hash.digest('hex'));
      });
  });
}
