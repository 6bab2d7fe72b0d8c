/**
 * Header blocks are one zlib stream in each direction of a connection, flushed behind each block: a block can be read only when all
 * before it were. Each end owns one of each and disposes of them with the connection.
 */

import zlib from 'node:zlib';
import { ProtocolViolation } from '../byte-connection.ts';
import { spdyDictionary } from './dictionary.ts';
import { maxFieldsBytes } from './fields.ts';

/** One block at a time. */
class BlockTransform implements Disposable {
  readonly #zlib: zlib.Deflate | zlib.Inflate;
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #failed = false;

  constructor(transform: zlib.Deflate | zlib.Inflate, maxBytes: number) {
    this.#zlib = transform;
    this.#maxBytes = maxBytes;
    transform.on('error', () => {
      this.#failed = true;
    });
    transform.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > this.#maxBytes)
        transform.destroy(new ProtocolViolation('a header block is too long'));
      else this.#chunks.push(chunk);
    });
  }

  async transform(block: Buffer): Promise<Buffer> {
    if (this.#failed || this.#zlib.destroyed)
      throw new ProtocolViolation('no header block can be read any more');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settle = (error?: Error | null): void => {
      if (error)
        reject(new ProtocolViolation(`a header block cannot be read: ${error.message}`, { cause: error }));
      else resolve();
    };
    const broken = (error?: Error): void => settle(error ?? new Error('closed'));
    this.#zlib.once('error', broken).once('close', broken);
    this.#zlib.write(block, settle);
    try {
      await promise;
      if (this.#bytes > this.#maxBytes) throw new ProtocolViolation('a header block is too long');
      // What the stream still holds comes as 'data' of this read.
      this.#zlib.read();
      return Buffer.concat(this.#chunks);
    } finally {
      this.#zlib.off('error', broken).off('close', broken);
      this.#chunks = [];
      this.#bytes = 0;
    }
  }

  [Symbol.dispose](): void {
    this.#zlib.destroy();
  }
}

/** Small tables: blocks are short, and there may be very many connections. */
export function fieldCompressor(): BlockTransform {
  const options = {
    dictionary: spdyDictionary,
    flush: zlib.constants.Z_SYNC_FLUSH,
    windowBits: 11,
    memLevel: 1,
  };
  return new BlockTransform(zlib.createDeflate(options), 2 * maxFieldsBytes);
}

export function fieldDecompressor(): BlockTransform {
  const options = { dictionary: spdyDictionary, flush: zlib.constants.Z_SYNC_FLUSH };
  return new BlockTransform(zlib.createInflate(options), maxFieldsBytes);
}

export type FieldTransform = BlockTransform;
