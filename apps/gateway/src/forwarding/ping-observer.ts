/**
 * Sees pings in a stream of frames, and changes nothing. A ping is what both protocols say must be answered, so a peer that
 * leaves one unanswered is not quiet but gone. kubectl sends one every five seconds.
 */

/** The frames of a protocol, as far as it takes to find the next one. */
interface Framing {
  /** Of the header that begins with these bytes, of which so many are there; more once more is known. */
  headerBytes(header: Buffer, present: number): number;
  payloadBytes(header: Buffer): number;
  isPing(header: Buffer): boolean;
}

/** SPDY/3.1, section 2.2: the first bit tells control frames, which have a type, from data; both have 24 bits of length. */
const spdy: Framing = {
  headerBytes: () => 8,
  payloadBytes: (header) => header.readUIntBE(5, 3),
  isPing: (header) => (header[0] ?? 0) >= 0x80 && header.readUInt16BE(2) === 6,
};

/** RFC 6455, section 5.2. */
const webSocket: Framing = {
  headerBytes(header, present) {
    if (present < 2) {
      return 2;
    }
    const second = header[1] ?? 0;
    return 2 + extendedBytes(second & 0x7f) + (second >= 0x80 ? 4 : 0);
  },
  payloadBytes(header) {
    const length = (header[1] ?? 0) & 0x7f;
    switch (extendedBytes(length)) {
      case 2:
        return header.readUInt16BE(2);
      case 8:
        return Number(header.readBigUInt64BE(2));
      default:
        return length;
    }
  },
  isPing: (header) => ((header[0] ?? 0) & 0x0f) === 9,
};

function extendedBytes(length: number): number {
  if (length < 126) {
    return 0;
  }
  return length === 126 ? 2 : 8;
}

const longestHeader = 14;

export class PingObserver {
  readonly #framing: Framing;
  readonly #header = Buffer.alloc(longestHeader);
  #present = 0;
  /** What is left of the payload under way. */
  #skip = 0;

  /** @param protocol of an upgrade that is relayed, in any case of its letters */
  constructor(protocol: string) {
    this.#framing = protocol.toLowerCase() === 'websocket' ? webSocket : spdy;
  }

  /** Whether there is the header of a ping in this piece, the next one of the stream. */
  sees(chunk: Buffer): boolean {
    let seen = false;
    let at = 0;
    while (at < chunk.length) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, chunk.length - at);
        this.#skip -= skipped;
        at += skipped;
      } else {
        this.#header[this.#present] = chunk[at] ?? 0;
        this.#present += 1;
        at += 1;
        seen = this.#headerEnds() || seen;
      }
    }
    return seen;
  }

  /** Whether the header is complete now, and that of a ping. */
  #headerEnds(): boolean {
    if (this.#present < this.#framing.headerBytes(this.#header, this.#present)) {
      return false;
    }
    this.#present = 0;
    this.#skip = this.#framing.payloadBytes(this.#header);
    return this.#framing.isPing(this.#header);
  }
}
