import { constants } from 'node:http2';
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { forEachField } from './field-list.ts';
import type { Reply } from './reply.ts';

export class Http2Reply implements Reply {
  readonly ownFields: string[] = [];
  onDrain: (() => void) | undefined;
  onClosed: ((complete: boolean) => void) | undefined;
  readonly #stream: ServerHttp2Stream;
  #status = 0;
  #bytesOut = 0;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on('drain', () => this.onDrain?.());
    stream.once('close', () =>
      this.onClosed?.(stream.writableFinished && stream.rstCode === constants.NGHTTP2_NO_ERROR),
    );
    // `close` follows and says all that matters.
    stream.on('error', () => undefined);
  }

  get started(): boolean {
    return this.#status > 0;
  }

  get closed(): boolean {
    return this.#stream.destroyed || this.#stream.writableEnded;
  }

  get status(): number {
    return this.#status;
  }

  get bytesOut(): number {
    return this.#bytesOut;
  }

  /** Streams are framed apart: one that is no good says nothing about the others. */
  endConnection(): void {}

  proceed(): void {
    if (!this.started && !this.closed) {
      this.#stream.additionalHeaders({ ':status': 100 });
    }
  }

  start(status: number, fields: readonly string[]): void {
    const headers: Record<string, string | string[]> = {};
    forEachField([...fields, ...this.ownFields], (name, value) => {
      const lower = name.toLowerCase();
      const present = headers[lower];
      if (present === undefined) {
        headers[lower] = value;
      } else {
        headers[lower] = Array.isArray(present) ? [...present, value] : [present, value];
      }
    });
    const outgoing: OutgoingHttpHeaders = headers;
    this.#stream.respond({ ...outgoing, ':status': status });
    this.#status = status;
  }

  write(chunk: Buffer | string): boolean {
    this.#bytesOut += Buffer.byteLength(chunk);
    return this.#stream.write(chunk);
  }

  end(): void {
    const stream = this.#stream;
    stream.end(() => {
      // The client need not send the rest of what nobody reads (RFC 9113, section 8.1).
      if (!stream.readableEnded && !stream.endAfterHeaders && !stream.destroyed) {
        stream.close(constants.NGHTTP2_NO_ERROR);
      }
    });
  }

  reset(): void {
    // Not `close(code)`: that one ends the stream in good order before it resets it, and the client reads the former.
    this.#stream.destroy(new Error('the answer is broken off'));
  }
}
