/**
 * Bytes from one writer to one reader in this process, never more than a bound ahead: between a connection and a process, and between
 * the processes of a pipeline. Whoever owns an end closes it; after that nothing is kept and nobody waits.
 */

export interface ByteSource {
  /** The next bytes, as soon as there are any; undefined at the end. Rejects when the bytes ended otherwise. One caller at a time. */
  read(): Promise<Buffer | undefined>;
}

export interface ByteSink {
  /** Resolves when more may be written. Rejects when nobody takes it any more. */
  write(bytes: Uint8Array): Promise<void>;
  /** No more will be written. Idempotent. */
  end(): Promise<void>;
}

/** There is no reader any more. */
export class BrokenPipe extends Error {
  constructor() {
    super('broken pipe');
    this.name = 'BrokenPipe';
  }
}

type State =
  | { readonly name: 'open' }
  | { readonly name: 'ended' }
  | { readonly name: 'failed'; readonly reason: Error }
  /** By the reader. */
  | { readonly name: 'closed' };

export class BytePipe implements ByteSource, ByteSink {
  readonly #limitBytes: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #state: State = { name: 'open' };
  /** Told, all of them, at each change; each looks again. */
  #waiting: (() => void)[] = [];

  /** `limitBytes`: beyond that many unread bytes a writer waits. Default: 64 KiB. */
  constructor(limitBytes = 65_536) {
    this.#limitBytes = limitBytes;
  }

  /** Unread bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#state.name !== 'open') throw new BrokenPipe();
    if (bytes.length === 0) return;
    this.#chunks.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    this.#bytes += bytes.length;
    this.#tell();
    while (this.#bytes > this.#limitBytes && this.#state.name === 'open') await this.#change();
  }

  async end(): Promise<void> {
    this.#become({ name: 'ended' });
  }

  /** Unless it has ended: what is not read yet is lost, and the reader learns why. */
  fail(reason: Error): void {
    if (this.#state.name !== 'open') return;
    this.#drop();
    this.#state = { name: 'failed', reason };
    this.#tell();
  }

  /** By the reader: it wants no more. */
  close(): void {
    this.#drop();
    this.#state = { name: 'closed' };
    this.#tell();
  }

  async read(): Promise<Buffer | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#bytes -= chunk.length;
        this.#tell();
        return chunk;
      }
      if (this.#state.name === 'failed') throw this.#state.reason;
      if (this.#state.name !== 'open') return undefined;
      await this.#change();
    }
  }

  #become(state: State): void {
    if (this.#state.name !== 'open') return;
    this.#state = state;
    this.#tell();
  }

  #drop(): void {
    this.#chunks.length = 0;
    this.#bytes = 0;
  }

  async #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    await promise;
  }

  #tell(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const look of waiting) look();
  }
}

/** Everything to the end. */
export async function readAll(source: ByteSource): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let chunk = await source.read(); chunk !== undefined; chunk = await source.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}
