/** The tar format as far as kubectl cp needs it: POSIX ustar, with the long names of pax and GNU when reading (pubs.opengroup.org, pax). */

import { ProtocolViolation } from '../byte-connection.ts';

export interface TarEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'other';
  readonly size: number;
  readonly mode: number;
  /** Seconds since the epoch. */
  readonly modifiedAt: number;
}

export type TarEvent =
  | { readonly type: 'entry'; readonly entry: TarEntry }
  | { readonly type: 'data'; readonly data: Buffer };

const blockBytes = 512;
/** Of what describes the next entry. */
const maxExtensionBytes = 65_536;

/** A header, with one of pax in front where the name does not fit. */
export function encodeTarHeader(entry: TarEntry): Buffer {
  const name = Buffer.from(entry.name);
  if (name.length <= 100) return encodeBlock(entry, name, entry.kind === 'directory' ? '5' : '0');
  const record = paxRecord('path', entry.name);
  const extension = { name: 'pax', kind: 'other', size: record.length, mode: 0o644, modifiedAt: 0 } as const;
  return Buffer.concat([
    encodeBlock(extension, Buffer.from(extension.name), 'x'),
    record,
    Buffer.alloc(tarPadding(record.length)),
    encodeBlock(entry, name.subarray(0, 100), entry.kind === 'directory' ? '5' : '0'),
  ]);
}

export const tarEnd = Buffer.alloc(2 * blockBytes);

/** Bytes between an entry's content and the next header. */
export function tarPadding(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

export class TarReader {
  readonly #block = Buffer.alloc(blockBytes);
  #blockBytes = 0;
  #content:
    | { left: number; padding: number; readonly extension: Buffer[] | undefined; readonly type: string }
    | undefined;
  #longName: string | undefined;
  #ended = false;

  /** What these bytes complete. Throws ProtocolViolation. */
  *push(chunk: Buffer): Generator<TarEvent, void> {
    let rest = chunk;
    while (rest.length > 0 && !this.#ended) {
      const content = this.#content;
      if (content === undefined) {
        const copied = rest.copy(this.#block, this.#blockBytes);
        this.#blockBytes += copied;
        rest = rest.subarray(copied);
        if (this.#blockBytes < blockBytes) return;
        this.#blockBytes = 0;
        const entry = this.#readBlock();
        if (entry !== undefined) yield { type: 'entry', entry };
        continue;
      }
      const data = rest.subarray(0, content.left);
      content.left -= data.length;
      rest = rest.subarray(data.length);
      if (content.extension !== undefined) content.extension.push(data);
      else if (data.length > 0) yield { type: 'data', data };
      const skipped = content.left > 0 ? 0 : Math.min(content.padding, rest.length);
      content.padding -= skipped;
      rest = rest.subarray(skipped);
      if (content.left > 0 || content.padding > 0) continue;
      if (content.extension !== undefined)
        this.#readExtension(content.type, Buffer.concat(content.extension));
      this.#content = undefined;
    }
  }

  #readBlock(): TarEntry | undefined {
    const block = this.#block;
    if (block.every((byte) => byte === 0)) {
      this.#ended = true;
      return undefined;
    }
    if (checksum(block) !== octal(block, 148, 8))
      throw new ProtocolViolation('This does not look like a tar archive');
    const type = String.fromCharCode(block.readUInt8(156));
    const size = type === '5' ? 0 : octal(block, 124, 12);
    const extension = type === 'x' || type === 'g' || type === 'L' ? [] : undefined;
    if (extension !== undefined && size > maxExtensionBytes)
      throw new ProtocolViolation('a name in the archive is too long');
    if (size > 0 || extension !== undefined)
      this.#content = { left: size, padding: tarPadding(size), extension, type };
    if (extension !== undefined) return undefined;
    const prefix = text(block, 345, 155);
    const short = text(block, 0, 100);
    const name = this.#longName ?? (prefix === '' ? short : `${prefix}/${short}`);
    this.#longName = undefined;
    const kind = type === '5' ? 'directory' : type === '0' || type === '\0' ? 'file' : 'other';
    return { name, kind, size, mode: octal(block, 100, 8), modifiedAt: octal(block, 136, 12) };
  }

  #readExtension(type: string, content: Buffer): void {
    if (type === 'L') this.#longName = content.toString().replace(/\0+$/, '');
    if (type !== 'x') return;
    const path = /(?:^|\n)\d+ path=(?<path>[^\n]*)\n/.exec(content.toString())?.groups?.['path'];
    if (path !== undefined) this.#longName = path;
  }
}

function encodeBlock({ size, mode, modifiedAt }: TarEntry, name: Buffer, type: string): Buffer {
  const block = Buffer.alloc(blockBytes);
  name.copy(block, 0);
  const numbers = [
    [100, 8, mode],
    [108, 8, 0],
    [116, 8, 0],
    [124, 12, size],
    [136, 12, modifiedAt],
  ] as const;
  for (const [offset, width, value] of numbers)
    block.write(value.toString(8).padStart(width - 1, '0'), offset, 'latin1');
  block.write(type, 156, 'latin1');
  block.write('ustar\u{0}00', 257, 'latin1');
  block.write('root', 265, 'latin1');
  block.write('root', 297, 'latin1');
  block.write(`${checksum(block).toString(8).padStart(6, '0')}\u{0} `, 148, 'latin1');
  return block;
}

/** With its own length in front, which counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (length !== Buffer.byteLength(`${length}${rest}`)) length = Buffer.byteLength(`${length}${rest}`);
  return Buffer.from(`${length}${rest}`);
}

/** Of all bytes, those of the checksum itself taken as blanks. */
function checksum(block: Buffer): number {
  return block.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 0x20 : byte), 0);
}

function octal(block: Buffer, offset: number, width: number): number {
  const digits = text(block, offset, width).trim();
  if (!/^[0-7]{0,12}$/.test(digits)) throw new ProtocolViolation('a number in the archive cannot be read');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

function text(block: Buffer, offset: number, width: number): string {
  const bytes = block.subarray(offset, offset + width);
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? width : end);
}
