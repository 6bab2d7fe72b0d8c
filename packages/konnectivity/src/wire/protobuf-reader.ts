/** As much of protobuf's encoding as the few messages need. It reads within the bytes that it is given, and copies none. */

import { TunnelError } from '../errors.ts';
import type { Int64 } from './packet.ts';

/** https://protobuf.dev/programming-guides/encoding/#structure; groups (3 and 4) are in no message of proto3. */
export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** A 64-bit integer has at most so many bytes of seven bits. */
const maxVarintBytes = 10;
/** As many of them fit a number's 53 bits with room to spare. */
const exactVarintBytes = 7;

export class ProtobufReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get more(): boolean {
    return this.#at < this.#end;
  }

  /** A field's number and wire type in one, as on the wire: `number << 3 | type`. */
  tag(): number {
    const tag = this.varint();
    if (typeof tag !== 'number' || tag < 8 || tag > 0xffff_ffff) {
      throw malformed('a field without a number');
    }
    return tag;
  }

  /** An int64 in two's complement. */
  varint(): Int64 {
    let value = 0;
    let factor = 1;
    for (let length = 0; length < exactVarintBytes; length += 1) {
      const byte = this.#next();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        return value;
      }
      factor *= 128;
    }
    return this.#longVarint(value);
  }

  #longVarint(low: number): Int64 {
    let value = BigInt(low);
    for (let length = exactVarintBytes; length < maxVarintBytes; length += 1) {
      const byte = this.#next();
      value |= BigInt(byte & 0x7f) << BigInt(7 * length);
      if (byte < 0x80) {
        const signed = BigInt.asIntN(64, value);
        const number = Number(signed);
        return Number.isSafeInteger(number) ? number : signed;
      }
    }
    throw malformed('a number without an end');
  }

  /** A view of the bytes themselves. */
  bytes(): Buffer {
    const start = this.#start();
    return this.#bytes.subarray(start, this.#at);
  }

  text(): string {
    const start = this.#start();
    return this.#bytes.toString('utf8', start, this.#at);
  }

  message(): ProtobufReader {
    const start = this.#start();
    return new ProtobufReader(this.#bytes, start, this.#at);
  }

  /** Past the value of a field that is not known. */
  skip(wireType: number): void {
    switch (wireType) {
      case wireTypes.varint:
        this.varint();
        return;
      case wireTypes.fixed64:
        this.#advance(8);
        return;
      case wireTypes.bytes:
        this.#start();
        return;
      case wireTypes.fixed32:
        this.#advance(4);
        return;
      default:
        throw malformed('a field of an unknown wire type');
    }
  }

  /** Where what comes next begins; afterwards the reader stands behind it. */
  #start(): number {
    const length = this.varint();
    if (typeof length !== 'number') {
      throw malformed('a length that is none');
    }
    this.#advance(length);
    return this.#at - length;
  }

  #advance(length: number): void {
    if (length < 0 || length > this.#end - this.#at) {
      throw malformed('a field that is longer than its message');
    }
    this.#at += length;
  }

  #next(): number {
    const byte = this.#at < this.#end ? this.#bytes[this.#at] : undefined;
    if (byte === undefined) {
      throw malformed('a number that breaks off');
    }
    this.#at += 1;
    return byte;
  }
}

function malformed(what: string): TunnelError {
  return new TunnelError('ERR_RH_TUNNEL_PROTOCOL', `a packet of the proxy-server cannot be read: ${what}`);
}
