/**
 * A request over HTTP/2 with fields that no client of HTTP/2 would send: literal HPACK (RFC 7541, section 6.2.2), without Huffman codes
 * and without a table.
 */

import { once } from 'node:events';
import { connect } from 'node:tls';
import { authority } from './gateway-rig.ts';

const types = { headers: 1, rstStream: 3, settings: 4, goaway: 7 } as const;
const endOfStreamAndHeaders = 0x1 | 0x4;
const headLength = 9;

/** How the gateway answered the only stream: with a head, by ending the stream, or by ending the connection. */
export type RawHttp2Answer = 'head' | 'reset' | 'goaway' | 'closed';

export async function sendRawHttp2(
  base: string,
  fields: readonly (readonly [name: string, value: string])[],
  credentials: { readonly cert?: string; readonly key?: string } = {},
): Promise<RawHttp2Answer> {
  const { hostname, port } = new URL(base);
  const socket = connect({
    host: hostname,
    port: Number(port),
    ca: authority.certificatePem,
    servername: 'localhost',
    ALPNProtocols: ['h2'],
    ...credentials,
  });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const { promise, resolve } = Promise.withResolvers<RawHttp2Answer>();
  let buffered = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    while (buffered.length >= headLength) {
      const length = headLength + buffered.readUIntBE(0, 3);
      if (buffered.length < length) return;
      const type = buffered.readUInt8(3);
      if (type === types.headers) resolve('head');
      if (type === types.rstStream) resolve('reset');
      if (type === types.goaway) resolve('goaway');
      buffered = buffered.subarray(length);
    }
  });
  socket.once('close', () => resolve('closed'));
  const block = Buffer.concat(
    fields.map(([name, value]) => Buffer.concat([Buffer.of(0), text(name), text(value)])),
  );
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(frame(types.settings, 0, 0, Buffer.alloc(0)));
  socket.write(frame(types.headers, endOfStreamAndHeaders, 1, block));
  const answer = await promise;
  socket.destroy();
  return answer;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.length > 126) throw new RangeError('Longer values take another form of length');
  return Buffer.concat([Buffer.of(bytes.length), bytes]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
