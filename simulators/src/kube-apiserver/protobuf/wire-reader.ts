/** The wire format of protocol buffers: tags, varints, and lengths that are checked against what is there. */
import { ApiError } from '../api-error.ts';

export type WireValue =
  | { readonly kind: 'varint'; readonly value: bigint }
  | { readonly kind: 'bytes'; readonly value: Uint8Array };

export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Throws BadRequest when the bytes end too early or are of a type that Kubernetes does not use. */
  next(): [field: number, value: WireValue] {
    const tag = Number(this.#varint());
    const field = Math.floor(tag / 8);
    switch (tag % 8) {
      case 0:
        return [field, { kind: 'varint', value: this.#varint() }];
      case 2:
        return [field, { kind: 'bytes', value: this.#take(Number(this.#varint())) }];
      default:
        throw malformed();
    }
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw malformed();
      this.#at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw malformed();
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw malformed();
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }
}

export function malformed(): ApiError {
  return ApiError.badRequest('the object provided is unrecognized: malformed protobuf');
}
