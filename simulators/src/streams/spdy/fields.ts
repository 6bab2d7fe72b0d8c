/** The name/value blocks of SPDY/3.1 (section 2.6.10), before compression and after. */

import { ProtocolViolation } from '../byte-connection.ts';

/** Names are lower case; several values of a name are joined by NUL, as on the wire. */
export type SpdyFields = ReadonlyMap<string, string>;

/** Uncompressed. */
export const maxFieldsBytes = 65_536;

export function encodeFields(fields: SpdyFields): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(fields.size);
  const parts: Buffer[] = [count];
  for (const [name, value] of fields) parts.push(...withLength(name.toLowerCase()), ...withLength(value));
  return Buffer.concat(parts);
}

/** Throws ProtocolViolation. */
export function parseFields(block: Buffer): SpdyFields {
  const fields = new Map<string, string>();
  let offset = 0;
  const take = (bytes: number): number => {
    const start = offset;
    offset += bytes;
    if (offset > block.length) throw new ProtocolViolation('a header block ends too early');
    return start;
  };
  const text = (): string => {
    const length = block.readUInt32BE(take(4));
    const start = take(length);
    return block.toString('utf8', start, offset);
  };
  for (let left = block.readUInt32BE(take(4)); left > 0; left -= 1) {
    const name = text();
    if (name === '') throw new ProtocolViolation('a header field has no name');
    if (fields.has(name)) throw new ProtocolViolation('a header field is there twice');
    fields.set(name, text());
  }
  if (offset !== block.length) throw new ProtocolViolation('a header block goes on behind its end');
  return fields;
}

function withLength(text: string): readonly [Buffer, Buffer] {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return [length, bytes];
}
