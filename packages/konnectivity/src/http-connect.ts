/** The conversation before a tunnel in the mode http-connect: one question, one head, and of a refusal the body, which has the words. */

import type { Socket } from 'node:net';
import { TunnelError, wordsOf } from './errors.ts';

/** As Node.js bounds heads. */
const maxHeadBytes = 16_384;
const maxBodyBytes = 2_048;
const endOfHead = '\r\n\r\n';
/** The server's words for that no agent is there, and those of versions before. */
const noAgent = /no tunnels available|no (?:agent|backend)s? available/i;

/**
 * Resolves when the tunnel is open; what came behind the head is what is read next.
 *
 * @param server of messages
 * @throws ERR_RH_TUNNEL_NO_AGENT, ERR_RH_TUNNEL_DIAL, ERR_RH_TUNNEL_SERVER, ERR_RH_TUNNEL_PROTOCOL, and the signal's reason
 */
export async function askConnect(
  socket: Socket,
  address: string,
  server: string,
  signal: AbortSignal,
): Promise<void> {
  socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
  const bytes = await readUntil(socket, signal, (read, ended) => {
    checkStart(read, server);
    const end = read.indexOf(endOfHead);
    if (end < 0 && (ended || read.length > maxHeadBytes)) {
      throw protocolError(
        server,
        ended ? 'it ended the connection before it answered' : 'its answer has no end',
      );
    }
    if (end < 0) {
      return false;
    }
    if (end > maxHeadBytes) {
      throw protocolError(server, 'the head of its answer is too long');
    }
    // The end of the connection is the end of a refusal's body.
    return statusIn(read, server) === 200 || ended || read.length - end > maxBodyBytes;
  });
  const end = bytes.indexOf(endOfHead) + endOfHead.length;
  const status = statusIn(bytes, server);
  if (status !== 200) {
    throw refusal(address, server, status, bytes.toString('utf8', end, end + maxBodyBytes));
  }
  if (bytes.length > end) {
    socket.unshift(bytes.subarray(end));
  }
}

function refusal(address: string, server: string, status: number, body: string): TunnelError {
  const words = wordsOf(body);
  const said = `${server} answered ${status}${words === '' ? '' : `: ${words}`}`;
  const details = { reason: 'endpoint', data: { status } } as const;
  if (noAgent.test(words)) {
    return new TunnelError('ERR_RH_TUNNEL_NO_AGENT', `${address} could not be dialed: ${said}`, details);
  }
  return status === 400 || status === 404 || status === 405
    ? new TunnelError(
        'ERR_RH_TUNNEL_SERVER',
        `${said}; it may not be a proxy-server that runs in the mode http-connect`,
        {
          ...details,
          reason: 'streamsetup',
        },
      )
    : new TunnelError('ERR_RH_TUNNEL_DIAL', `${address} could not be dialed: ${said}`, details);
}

const version = Buffer.from('HTTP/1.');

/** So that what is no HTTP fails at once, and not at the dial limit. */
function checkStart(read: Buffer, server: string): void {
  const length = Math.min(read.length, version.length);
  if (read.compare(version, 0, length, 0, length) !== 0) {
    throw protocolError(server, 'it does not speak HTTP/1.1; it may run in the mode grpc');
  }
}

function statusIn(head: Buffer, server: string): number {
  const status = /^HTTP\/1\.[01] ([1-9]\d\d)(?: [^\r\n]*)?\r\n/.exec(
    head.toString('latin1', 0, maxHeadBytes),
  )?.[1];
  if (status === undefined) {
    throw protocolError(server, 'its answer has no status line of HTTP/1.1');
  }
  return Number(status);
}

function protocolError(server: string, what: string): TunnelError {
  return new TunnelError(
    'ERR_RH_TUNNEL_PROTOCOL',
    `${server} did not answer as a proxy-server does: ${what}`,
    {
      reason: 'tunnelclosed',
    },
  );
}

/** All that was read until `enough` says so; what it throws is thrown. Afterwards the socket is as if nobody had read from it. */
async function readUntil(
  socket: Socket,
  signal: AbortSignal,
  enough: (read: Buffer, ended: boolean) => boolean,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let read = Buffer.alloc(0);
  const look = (ended: boolean): void => {
    try {
      if (enough(read, ended)) {
        resolve(read);
      }
    } catch (error) {
      reject(error);
    }
  };
  const onReadable = (): void => {
    for (let chunk: unknown = socket.read(); Buffer.isBuffer(chunk); chunk = socket.read()) {
      read = Buffer.concat([read, chunk]);
      look(false);
    }
  };
  const onEnd = (): void => look(true);
  const onAbort = (): void => reject(signal.reason);
  socket.on('readable', onReadable).once('end', onEnd).once('close', onEnd);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) {
    onAbort();
  }
  try {
    return await promise;
  } finally {
    socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd);
    signal.removeEventListener('abort', onAbort);
  }
}
