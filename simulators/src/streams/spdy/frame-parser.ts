/**
 * Reads SPDY/3.1 frames from bytes that come in whatever pieces. Control frames are bounded and given whole; data is passed on as it
 * comes, so that the length of a data frame costs nothing.
 */

import { ProtocolViolation } from '../byte-connection.ts';
import { controlType, flagFin, flagUnidirectional, type SpdyFrame, type SpdySetting } from './frames.ts';

/** A control frame's content, compressed. */
const maxControlBytes = 65_536;

type Part =
  | { readonly name: 'head' }
  | { readonly name: 'control'; readonly type: number; readonly flags: number; readonly body: Buffer }
  | { readonly name: 'data'; readonly streamId: number; readonly fin: boolean; left: number };

export class SpdyFrameParser {
  readonly #head = Buffer.alloc(8);
  #part: Part = { name: 'head' };
  /** Of the part, when it is given whole. */
  #filled = 0;

  /** Whether the bytes so far end where a frame does. */
  get betweenFrames(): boolean {
    return this.#part.name === 'head' && this.#filled === 0;
  }

  /** The frames that these bytes complete. Throws ProtocolViolation; then nothing more can be read. */
  *push(chunk: Buffer): Generator<SpdyFrame, void> {
    let rest = chunk;
    while (rest.length > 0) {
      const part = this.#part;
      if (part.name === 'data') {
        const data = rest.subarray(0, part.left);
        rest = rest.subarray(data.length);
        part.left -= data.length;
        if (part.left === 0) this.#part = { name: 'head' };
        yield { type: 'data', streamId: part.streamId, fin: part.fin && part.left === 0, data };
        continue;
      }
      const target = part.name === 'head' ? this.#head : part.body;
      const copied = rest.copy(target, this.#filled);
      this.#filled += copied;
      rest = rest.subarray(copied);
      if (this.#filled < target.length) return;
      this.#filled = 0;
      const frame = part.name === 'head' ? this.#readHead() : this.#readControl(part);
      if (frame !== undefined) yield frame;
    }
  }

  #readHead(): SpdyFrame | undefined {
    const first = this.#head.readUInt32BE();
    const flags = this.#head.readUInt8(4);
    const length = this.#head.readUInt32BE(4) & 0xffffff;
    if (first >>> 31 === 0) {
      const fin = (flags & flagFin) !== 0;
      if (first === 0) throw new ProtocolViolation('data for stream 0');
      if (length > 0) this.#part = { name: 'data', streamId: first, fin, left: length };
      else return { type: 'data', streamId: first, fin, data: Buffer.alloc(0) };
      return undefined;
    }
    const version = (first >>> 16) & 0x7fff;
    if (version !== 3) throw new ProtocolViolation(`a frame of SPDY version ${version}`);
    if (length > maxControlBytes) throw new ProtocolViolation(`a control frame of ${length} bytes`);
    const control = { name: 'control', type: first & 0xffff, flags, body: Buffer.alloc(length) } as const;
    if (length === 0) return this.#readControl(control);
    this.#part = control;
    return undefined;
  }

  #readControl({ type, flags, body }: Extract<Part, { name: 'control' }>): SpdyFrame {
    this.#part = { name: 'head' };
    const fin = (flags & flagFin) !== 0;
    switch (type) {
      case controlType.synStream:
        return {
          type: 'syn-stream',
          streamId: streamIdAt(body, 0, 10),
          associatedTo: body.readUInt32BE(4) & 0x7fffffff,
          priority: body.readUInt8(8) >>> 5,
          fin,
          unidirectional: (flags & flagUnidirectional) !== 0,
          block: body.subarray(10),
        };
      case controlType.synReply:
        return { type: 'syn-reply', streamId: streamIdAt(body, 0, 4), fin, block: body.subarray(4) };
      case controlType.headers:
        return { type: 'headers', streamId: streamIdAt(body, 0, 4), fin, block: body.subarray(4) };
      case controlType.rstStream:
        return { type: 'rst-stream', streamId: streamIdAt(body, 0, 8), status: body.readUInt32BE(4) };
      case controlType.settings:
        return { type: 'settings', entries: settings(body) };
      case controlType.ping:
        requireBytes(body, 4);
        return { type: 'ping', id: body.readUInt32BE() };
      case controlType.goaway:
        requireBytes(body, 8);
        return {
          type: 'goaway',
          lastStreamId: body.readUInt32BE() & 0x7fffffff,
          status: body.readUInt32BE(4),
        };
      case controlType.windowUpdate:
        requireBytes(body, 8);
        return {
          type: 'window-update',
          streamId: body.readUInt32BE() & 0x7fffffff,
          delta: body.readUInt32BE(4) & 0x7fffffff,
        };
      default:
        return { type: 'unknown', code: type };
    }
  }
}

function streamIdAt(body: Buffer, offset: number, atLeast: number): number {
  requireBytes(body, atLeast);
  const id = body.readUInt32BE(offset) & 0x7fffffff;
  if (id === 0) throw new ProtocolViolation('a frame for stream 0');
  return id;
}

function requireBytes(body: Buffer, atLeast: number): void {
  if (body.length < atLeast) throw new ProtocolViolation(`a control frame of only ${body.length} bytes`);
}

function settings(body: Buffer): readonly SpdySetting[] {
  requireBytes(body, 4);
  const count = body.readUInt32BE();
  if (count * 8 !== body.length - 4) throw new ProtocolViolation('SETTINGS of a length that does not fit');
  return Array.from({ length: count }, (_, index) => {
    const first = body.readUInt32BE(4 + 8 * index);
    return { id: first & 0xffffff, flags: first >>> 24, value: body.readUInt32BE(8 + 8 * index) };
  });
}
