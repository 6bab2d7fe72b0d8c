/** An HTTP/2 server frame by frame (RFC 9113, section 6), over plain TCP: it sends exactly the frames that a test says. */

import type { Socket } from 'node:net';
import { RawServer } from './raw-server.ts';

const types = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
} as const;
const endStream = 1;
const endHeaders = 4;
const ack = 1;
const prefaceLength = 24;
const headLength = 9;

export class FramePeer {
  readonly socket: Socket;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** `:status: 200`, which has a number of its own in HPACK. */
  head(stream: number, end = false): this {
    return this.#frame(types.headers, endHeaders | (end ? endStream : 0), stream, Buffer.from([0x88]));
  }

  data(stream: number, text: string, end = false): this {
    return this.#frame(types.data, end ? endStream : 0, stream, Buffer.from(text));
  }

  reset(stream: number, code: number): this {
    return this.#frame(types.rstStream, 0, stream, uint32(code));
  }

  goaway(lastStream: number, code = 0): this {
    return this.#frame(types.goaway, 0, 0, Buffer.concat([uint32(lastStream), uint32(code)]));
  }

  settings(values: Readonly<Record<number, number>> = {}): this {
    const entries = Object.entries(values).map(([id, value]) => {
      const entry = Buffer.alloc(6);
      entry.writeUInt16BE(Number(id), 0);
      entry.writeUInt32BE(value, 2);
      return entry;
    });
    return this.#frame(types.settings, 0, 0, Buffer.concat(entries));
  }

  acknowledgeSettings(): this {
    return this.#frame(types.settings, ack, 0, Buffer.alloc(0));
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): this {
    const head = Buffer.alloc(headLength);
    head.writeUIntBE(payload.length, 0, 3);
    head.writeUInt8(type, 3);
    head.writeUInt8(flags, 4);
    head.writeUInt32BE(stream, 5);
    this.socket.write(Buffer.concat([head, payload]));
    return this;
  }
}

/** SETTINGS_MAX_CONCURRENT_STREAMS */
export const maxConcurrentStreams = 3;

/** @param onRequest called with the number of each stream whose head arrives */
export function listenFrames(
  onRequest: (peer: FramePeer, stream: number, connection: number) => void,
  settings: Readonly<Record<number, number>> = {},
): Promise<RawServer> {
  return RawServer.listen((socket, connection) => {
    const peer = new FramePeer(socket).settings(settings);
    let buffered = Buffer.alloc(0);
    let greeted = false;
    socket.on('data', (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk]);
      if (!greeted) {
        if (buffered.length < prefaceLength) {
          return;
        }
        greeted = true;
        buffered = buffered.subarray(prefaceLength);
      }
      while (buffered.length >= headLength) {
        const length = headLength + buffered.readUIntBE(0, 3);
        if (buffered.length < length) {
          return;
        }
        const [type, flags, stream] = [
          buffered.readUInt8(3),
          buffered.readUInt8(4),
          buffered.readUInt32BE(5),
        ];
        buffered = buffered.subarray(length);
        if (type === types.settings && (flags & ack) === 0) {
          peer.acknowledgeSettings();
        } else if (type === types.headers) {
          onRequest(peer, stream, connection);
        }
      }
    });
  });
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}
