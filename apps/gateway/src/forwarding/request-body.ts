/**
 * The client's request body on its way to the cluster: read as fast as the cluster takes it, and cut loose from the client's
 * connection. Whoever destroys this destroys the upload and not the connection on which the answer must still go out.
 */

import { Readable } from 'node:stream';
import { GatewayError } from '../errors.ts';

export interface RequestBodyOptions {
  readonly source: Readable;
  /** Called before the first byte is wanted, for a client that waits for 100. */
  readonly onWanted: () => void;
  /** Told of each piece that was read from the client. */
  readonly onReceived: (bytes: number) => void;
  /** No piece of it may take longer, neither to come from the client nor to be taken by the cluster. */
  readonly silenceMs: number;
}

export class RequestBody extends Readable {
  readonly #options: RequestBodyOptions;
  #wanted = false;
  /** Set while something is waited for; which side it is depends on whether the source is paused. */
  #silence: NodeJS.Timeout | undefined;

  constructor(options: RequestBodyOptions) {
    super();
    this.#options = options;
  }

  override _read(): void {
    const { source, onWanted } = this.#options;
    if (!this.#wanted) {
      this.#wanted = true;
      source.on('data', this.#onData);
      source.once('end', this.#onEnd);
      source.once('error', this.#onBroken);
      source.once('close', this.#onBroken);
      onWanted();
    }
    this.#await(this.#onSilence);
    source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const { source } = this.#options;
    clearTimeout(this.#silence);
    source.off('data', this.#onData);
    source.off('end', this.#onEnd);
    source.off('error', this.#onBroken);
    source.off('close', this.#onBroken);
    // What is left is for the listener, which knows whether the connection is worth reading it.
    source.on('error', () => undefined);
    source.pause();
    callback(error);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#options.onReceived(chunk.length);
    if (this.push(chunk)) {
      this.#await(this.#onSilence);
    } else {
      // From now on nothing is read from the client, so it could even be gone without our hearing of it.
      this.#options.source.pause();
      this.#await(this.#onStall);
    }
  };

  #await(onLate: () => void): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(onLate, this.#options.silenceMs);
  }

  readonly #onEnd = (): void => {
    clearTimeout(this.#silence);
    this.push(null);
  };

  readonly #onBroken = (): void => {
    if (!this.#options.source.readableEnded) {
      this.destroy(
        new GatewayError('ERR_RH_CLIENT_GONE', 'the client went away in the middle of its request body'),
      );
    }
  };

  readonly #onStall = (): void => {
    const { silenceMs } = this.#options;
    this.destroy(
      new GatewayError(
        'ERR_RH_UPLOAD_STALLED',
        `the cluster took nothing of the request body for ${silenceMs} ms`,
      ),
    );
  };

  readonly #onSilence = (): void => {
    const { silenceMs } = this.#options;
    this.destroy(
      new GatewayError('ERR_RH_UPLOAD_SILENT', `no byte of the request body came within ${silenceMs} ms`),
    );
  };
}
