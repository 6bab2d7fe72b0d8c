/**
 * What a proxy answers, in whatever pieces it comes, and nothing beyond it: what stands behind belongs to the endpoint. How
 * long that may take is the dial's limit, how much it may be is said here.
 */

import type { Duplex } from 'node:stream';

export class HandshakeBytes {
  readonly #socket: Duplex;
  readonly #signal: AbortSignal;
  /** Read and not taken yet. At most a chunk more than what is asked for. */
  #bytes: Buffer = Buffer.alloc(0);

  /** @param signal ends every wait with its reason */
  constructor(socket: Duplex, signal: AbortSignal) {
    this.#socket = socket;
    this.#signal = signal;
  }

  /** @throws when the connection ends before */
  async exactly(length: number): Promise<Buffer> {
    while (this.#bytes.length < length) {
      await this.#readMore();
    }
    return this.#take(length);
  }

  /**
   * Up to and with the first empty line, latin1.
   *
   * @param check looks at what is there of it so far, and throws when it can be nothing good
   * @throws when the connection ends before, or when it is longer than `maxBytes`
   */
  async head(maxBytes: number, check: (start: string) => void): Promise<string> {
    let searched = 0;
    for (;;) {
      check(this.#bytes.toString('latin1', 0, Math.min(this.#bytes.length, maxBytes)));
      const end = endOfHead(this.#bytes, searched);
      if ((end ?? this.#bytes.length) > maxBytes) {
        throw new Error(`the head of its answer is longer than ${maxBytes} bytes`);
      }
      if (end !== undefined) {
        return this.#take(end).toString('latin1');
      }
      // The end of what is there may be the beginning of the empty line.
      searched = Math.max(0, this.#bytes.length - '\n\r'.length);
      await this.#readMore();
    }
  }

  /** The socket's next reader gets what was read and not taken. */
  giveBack(): void {
    if (this.#bytes.length > 0) {
      this.#socket.unshift(this.#take(this.#bytes.length));
    }
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  async #readMore(): Promise<void> {
    for (;;) {
      const chunk: unknown = this.#socket.read();
      if (Buffer.isBuffer(chunk)) {
        this.#bytes = Buffer.concat([this.#bytes, chunk]);
        return;
      }
      await this.#readable();
    }
  }

  #readable(): Promise<void> {
    const socket = this.#socket;
    const signal = this.#signal;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onEnd = (): void => reject(new Error('it ended the connection'));
    const onAbort = (): void => reject(signal.reason);
    socket.on('readable', resolve).on('end', onEnd).on('close', onEnd).on('error', reject);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) {
      onAbort();
    } else if (socket.destroyed || socket.readableEnded) {
      onEnd();
    }
    return promise.finally(() => {
      socket.off('readable', resolve).off('end', onEnd).off('close', onEnd).off('error', reject);
      signal.removeEventListener('abort', onAbort);
    });
  }
}

/** Where the first empty line ends. A line may end without CR (RFC 9112, section 2.2). */
function endOfHead(bytes: Buffer, from: number): number | undefined {
  const emptyLine = /\n\r?\n/g;
  const end = emptyLine.test(bytes.toString('latin1', from)) ? emptyLine.lastIndex : undefined;
  return end === undefined ? undefined : from + end;
}
