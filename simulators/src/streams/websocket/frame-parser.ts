/** Reads WebSocket frames (RFC 6455, section 5) from bytes that come in whatever pieces. Each is given whole, and is bounded. */

import { ProtocolViolation } from '../byte-connection.ts';
import { applyMask, opcode, type Opcode, type WebSocketFrame } from './frames.ts';

/** Of one frame. */
const maxPayloadBytes = 4 * 1024 * 1024;
const opcodes: ReadonlySet<number> = new Set(Object.values(opcode));

interface FrameHead {
  readonly fin: boolean;
  readonly opcode: Opcode;
  readonly mask: Buffer | undefined;
  readonly length: number;
}

export class WebSocketFrameParser {
  readonly #expectMask: boolean;
  /** Two bytes, up to eight of length, four of the mask. */
  readonly #head = Buffer.alloc(14);
  #headBytes = 0;
  #frame: FrameHead | undefined;
  #payload = Buffer.alloc(0);
  #payloadBytes = 0;

  /** What comes from a client must be masked, and from a server must not. */
  constructor(from: 'client' | 'server') {
    this.#expectMask = from === 'client';
  }

  get betweenFrames(): boolean {
    return this.#headBytes === 0 && this.#frame === undefined;
  }

  /** The frames that these bytes complete. Throws ProtocolViolation; then nothing more can be read. */
  *push(chunk: Buffer): Generator<WebSocketFrame, void> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#frame === undefined) {
        const copied = rest.copy(this.#head, this.#headBytes, 0, this.#headLength() - this.#headBytes);
        this.#headBytes += copied;
        rest = rest.subarray(copied);
        // The second byte tells how long the head is.
        if (this.#headBytes < this.#headLength()) continue;
        this.#frame = this.#readHead();
        this.#headBytes = 0;
        this.#payload = Buffer.allocUnsafe(this.#frame.length);
        this.#payloadBytes = 0;
      } else {
        const copied = rest.copy(this.#payload, this.#payloadBytes);
        this.#payloadBytes += copied;
        rest = rest.subarray(copied);
      }
      const frame = this.#frame;
      if (this.#payloadBytes < frame.length) continue;
      const payload = this.#payload;
      this.#frame = undefined;
      this.#payload = Buffer.alloc(0);
      if (frame.mask !== undefined) applyMask(payload, frame.mask);
      yield { fin: frame.fin, opcode: frame.opcode, payload };
    }
  }

  #headLength(): number {
    if (this.#headBytes < 2) return 2;
    const second = this.#head.readUInt8(1);
    const length = second & 0x7f;
    return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second >= 0x80 ? 4 : 0);
  }

  #readHead(): FrameHead {
    const first = this.#head.readUInt8(0);
    const second = this.#head.readUInt8(1);
    if ((first & 0x70) !== 0) throw new ProtocolViolation('reserved bits are set');
    const code = first & 0x0f;
    if (!isOpcode(code)) throw new ProtocolViolation(`a frame with opcode ${code}`);
    const masked = second >= 0x80;
    if (masked !== this.#expectMask) {
      throw new ProtocolViolation(
        masked ? 'a masked frame from a server' : 'an unmasked frame from a client',
      );
    }
    const fin = first >= 0x80;
    const length = this.#readLength(second & 0x7f);
    if (code >= 8 && (!fin || length > 125))
      throw new ProtocolViolation('a control frame that is not short and whole');
    const end = this.#headLength();
    return {
      fin,
      opcode: code,
      length,
      mask: masked ? Buffer.from(this.#head.subarray(end - 4, end)) : undefined,
    };
  }

  #readLength(short: number): number {
    if (short < 126) return short;
    const length = short === 126 ? this.#head.readUInt16BE(2) : Number(this.#head.readBigUInt64BE(2));
    if (length < (short === 126 ? 126 : 65_536))
      throw new ProtocolViolation('a length that is longer than needed');
    if (length > maxPayloadBytes) throw new ProtocolViolation(`a frame of ${length} bytes`);
    return length;
  }
}

function isOpcode(code: number): code is Opcode {
  return opcodes.has(code);
}
