/** What a client says. A field that has its default is left out, as protobuf does. */

import { packetTypes } from './packet.ts';
import type { Int64 } from './packet.ts';
import { wireTypes } from './protobuf-reader.ts';

/** The numbers of the oneof fields. */
const payloadFields = { DIAL_REQ: 2, DATA: 4, CLOSE_REQ: 5, DIAL_CLS: 7 } as const;

/** @param address `host:port`, as the agent will read it */
export function encodeDialRequest(address: string, random: Int64): Buffer {
  return packet('DIAL_REQ', [...text(1, 'tcp'), ...text(2, address), ...integer(3, random)]);
}

export function encodeCloseRequest(connectId: Int64): Buffer {
  return packet('CLOSE_REQ', integer(1, connectId));
}

/** Gives up a dial that is not answered. */
export function encodeCloseDial(random: Int64): Buffer {
  return packet('DIAL_CLS', integer(1, random));
}

/** All of a DATA packet but its bytes, which follow. */
export function encodeDataHead(connectId: Int64, length: number): Buffer {
  const head = [...integer(1, connectId), ...varint(3 * 8 + wireTypes.bytes), ...varint(length)];
  return Buffer.from([...start('DATA', head.length + length), ...head]);
}

function packet(type: keyof typeof payloadFields, payload: readonly number[]): Buffer {
  return Buffer.from([...start(type, payload.length), ...payload]);
}

/** Up to the payload. The type is said even where it is the default: readers take both. */
function start(type: keyof typeof payloadFields, payloadLength: number): number[] {
  return [
    8 + wireTypes.varint,
    packetTypes[type],
    payloadFields[type] * 8 + wireTypes.bytes,
    ...varint(payloadLength),
  ];
}

function text(field: number, value: string): number[] {
  const bytes = Buffer.from(value);
  return [field * 8 + wireTypes.bytes, ...varint(bytes.length), ...bytes];
}

function integer(field: number, value: Int64): number[] {
  return [field * 8 + wireTypes.varint, ...varint(value)];
}

function varint(value: Int64): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  if (typeof value === 'number' && value >= 0 && value < 0x80) {
    return [value];
  }
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}
