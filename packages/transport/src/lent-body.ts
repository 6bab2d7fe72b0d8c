/**
 * What an engine gets in place of a body stream. Engines destroy what they are given along with the connection; but a
 * body of which nothing was read can still be sent on another connection, so it must survive that. From the first
 * chunk on the two share their fate.
 */

import { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

export class LentBody extends Readable {
  readonly #source: Readable;
  /** Whether the reader has room: chunks stay in the source until then. */
  #wanted = false;
  #taken = false;

  constructor(source: Readable) {
    super();
    this.#source = source;
    source.on('readable', this.#onReadable);
    source.on('end', this.#onEnd);
    source.on('error', this.#onError);
    source.on('close', this.#onClose);
  }

  override _read(): void {
    this.#wanted = true;
    this.#take();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#source.off('readable', this.#onReadable);
    this.#source.off('end', this.#onEnd);
    this.#source.off('error', this.#onError);
    this.#source.off('close', this.#onClose);
    // A server's request is its server's to end: destroying it takes the connection along on which the answer is due.
    if (this.#taken && !(this.#source instanceof IncomingMessage)) {
      this.#source.destroy(error ?? undefined);
    }
    callback(error);
  }

  #take(): void {
    while (this.#wanted) {
      const chunk: unknown = this.#source.read();
      if (chunk === null) {
        return;
      }
      this.#taken = true;
      this.#wanted = this.push(chunk);
    }
  }

  readonly #onReadable = (): void => this.#take();

  readonly #onEnd = (): void => {
    this.push(null);
  };

  readonly #onError = (error: Error): void => {
    this.destroy(error);
  };

  readonly #onClose = (): void => {
    if (!this.#source.readableEnded) {
      this.destroy();
    }
  };
}
