/** The cluster's end of an exec: agrees to what is asked, and does one of three things. No cheaper one would answer as a cluster does. */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { outputFrame, outputFrameBytes } from './frames.ts';
import type { SessionProtocol } from './frames.ts';

/**
 * - `once`: sends back the first bytes that come, and ends.
 * - `echo`: sends back whatever comes, until the client ends.
 * - a number: so many frames of output, and ends.
 */
export type ExecCommand = 'once' | 'echo' | number;

export function serveExec(request: IncomingMessage, socket: Duplex): void {
  const command = new URL(request.url ?? '/', 'https://localhost').searchParams.get('command') ?? '';
  const protocol = request.headers.upgrade === 'websocket' ? 'websocket' : 'SPDY/3.1';
  socket.on('error', () => socket.destroy());
  socket.once('end', () => socket.end());
  socket.write(switchingHead(request, protocol));
  if (command === 'once') {
    socket.once('data', (chunk: Buffer) => socket.end(chunk));
  } else if (command === 'echo') {
    socket.on('data', (chunk: Buffer) => socket.write(chunk));
  } else {
    socket.resume();
    sendOutput(socket, protocol, Number(command));
  }
}

function sendOutput(socket: Duplex, protocol: SessionProtocol, frames: number): void {
  const frame = outputFrame(protocol);
  let left = frames;
  const send = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= 1;
      if (!socket.write(frame) && left > 0) {
        socket.once('drain', send);
        return;
      }
    }
    socket.end();
  };
  send();
}

export function framesIn(bytes: number): number {
  return Math.ceil(bytes / outputFrameBytes);
}

function switchingHead({ headers }: IncomingMessage, protocol: SessionProtocol): string {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${protocol}`];
  const key = headers['sec-websocket-key'];
  if (protocol === 'websocket') {
    // RFC 6455, section 4.2.2.
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    lines.push(`Sec-WebSocket-Accept: ${accept}`, 'Sec-WebSocket-Protocol: v5.channel.k8s.io');
  } else {
    lines.push('X-Stream-Protocol-Version: v4.channel.k8s.io');
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}
