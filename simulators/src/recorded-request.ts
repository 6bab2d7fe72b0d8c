/**
 * What a peer saw of one request. The server that owns it fills it in; a test reads it, during the request or long after.
 */

import type { Readable } from 'node:stream';
import type { RecordedConnection } from './recorded-connection.ts';

export type HttpProtocol = 'http/1.1' | 'h2';

/**
 * - `pending`: not yet answered in full
 * - `answered`: the whole answer went to the operating system
 * - `aborted`: either side ended the exchange before that
 */
export type RequestOutcome = 'pending' | 'answered' | 'aborted';

export interface RequestFacts {
  /** In order of arrival at the server, from 1. */
  readonly id: number;
  readonly connection: RecordedConnection;
  readonly protocol: HttpProtocol;
  readonly method: string;
  /** The request target as it came. */
  readonly path: string;
  /** Flat list of names and values in their order and case, repeats as repeats; over HTTP/2 the pseudo fields are among them. */
  readonly rawHeaders: readonly string[];
  /** HTTP/1.1: the head's exact bytes, read as latin1. Undefined over HTTP/2. */
  readonly rawHead: string | undefined;
  /** HTTP/2: the stream's number. */
  readonly streamId: number | undefined;
}

export class RecordedRequest implements RequestFacts {
  readonly id: number;
  readonly connection: RecordedConnection;
  readonly protocol: HttpProtocol;
  readonly method: string;
  readonly path: string;
  readonly rawHeaders: readonly string[];
  readonly rawHead: string | undefined;
  readonly streamId: number | undefined;
  /** Milliseconds on the scale of `performance.now()`. */
  readonly startedAt = performance.now();

  readonly #body: Buffer[] = [];
  #bodyRead: Promise<void> | undefined;
  #bodyBytes = 0;
  #bodyEnded = false;
  #outcome: RequestOutcome = 'pending';

  constructor(facts: RequestFacts) {
    this.id = facts.id;
    this.connection = facts.connection;
    this.protocol = facts.protocol;
    this.method = facts.method;
    this.path = facts.path;
    this.rawHeaders = facts.rawHeaders;
    this.rawHead = facts.rawHead;
    this.streamId = facts.streamId;
  }

  /** Every value of that header, in order; the name's case does not matter. */
  headerValues(name: string): readonly string[] {
    const wanted = name.toLowerCase();
    return this.rawHeaders.filter(
      (_, index) => index % 2 === 1 && this.rawHeaders[index - 1]?.toLowerCase() === wanted,
    );
  }

  /** Bytes of the body read so far. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  /** The body read so far, up to the server's `keepBodyBytes`. */
  get body(): Buffer {
    return Buffer.concat(this.#body);
  }

  /** Whether the body arrived to its end. */
  get bodyEnded(): boolean {
    return this.#bodyEnded;
  }

  get outcome(): RequestOutcome {
    return this.#outcome;
  }

  /** For the server: reads the body from now on, whoever asks first. Resolves at its end, never when the exchange ends before. */
  async collectBody(source: Readable, keepBytes: number, changed: () => void): Promise<void> {
    this.#bodyRead ??= this.#read(source, keepBytes, changed);
    return this.#bodyRead;
  }

  /** For the server: of the body that was read, remembers this much. */
  trimBody(keepBytes: number): void {
    const kept = this.body.subarray(0, keepBytes);
    if (kept.length < this.#bodyBytes) this.#body.splice(0, this.#body.length, Buffer.from(kept));
  }

  async #read(source: Readable, keepBytes: number, changed: () => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    source.on('data', (chunk: Buffer) => {
      const room = keepBytes - this.#bodyBytes;
      if (room > 0) this.#body.push(chunk.subarray(0, room));
      this.#bodyBytes += chunk.length;
      changed();
    });
    source.once('end', () => {
      this.#bodyEnded = true;
      changed();
      resolve();
    });
    return promise;
  }

  /** For the server: how it ended. */
  settle(outcome: Exclude<RequestOutcome, 'pending'>): void {
    this.#outcome = outcome;
  }
}
