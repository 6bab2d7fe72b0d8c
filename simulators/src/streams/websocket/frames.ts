/** The frames of RFC 6455, section 5.2, and how they are written. */

import { randomBytes } from 'node:crypto';

export const opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export type Opcode = (typeof opcode)[keyof typeof opcode];

export interface WebSocketFrame {
  readonly fin: boolean;
  readonly opcode: Opcode;
  readonly payload: Buffer;
}

/** Clients mask, with a key of four bytes; servers do not. */
export function encodeWebSocketFrame(frame: WebSocketFrame, mask: 'masked' | 'plain'): Buffer {
  const { fin, opcode: code, payload } = frame;
  const extended = payload.length < 126 ? 0 : payload.length < 65_536 ? 2 : 8;
  const maskBytes = mask === 'masked' ? 4 : 0;
  const bytes = Buffer.allocUnsafe(2 + extended + maskBytes + payload.length);
  bytes[0] = (fin ? 0x80 : 0) | code;
  const masked = mask === 'masked' ? 0x80 : 0;
  if (extended === 0) bytes[1] = masked | payload.length;
  else if (extended === 2) {
    bytes[1] = masked | 126;
    bytes.writeUInt16BE(payload.length, 2);
  } else {
    bytes[1] = masked | 127;
    bytes.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  const start = 2 + extended + maskBytes;
  payload.copy(bytes, start);
  if (mask === 'masked') {
    const key = randomBytes(4);
    key.copy(bytes, start - 4);
    applyMask(bytes.subarray(start), key);
  }
  return bytes;
}

/** In place; the same again takes it off. `offset`: how far into the payload these bytes begin. */
export function applyMask(bytes: Buffer, key: Buffer, offset = 0): void {
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = (bytes[index] ?? 0) ^ (key[(index + offset) & 3] ?? 0);
  }
}
