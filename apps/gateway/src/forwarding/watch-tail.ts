/**
 * Whether a watch can be told why it ends. Between two events an `ERROR` event with a `Status` is what a kube-apiserver
 * itself sends; in the middle of one, or in another encoding, there is no place for it.
 */

import type { Status } from '@roundhouse/kubernetes';

const newline = 0x0a;

export class WatchTail {
  readonly #possible: boolean;
  #atBoundary = true;

  /** @param possible a watch in JSON that is not coded otherwise */
  constructor(possible: boolean) {
    this.#possible = possible;
  }

  passed(chunk: Buffer): void {
    this.#atBoundary = chunk.at(-1) === newline;
  }

  /** Whether the stream can end here without leaving half an event behind. */
  get atBoundary(): boolean {
    return this.#atBoundary;
  }

  /** Undefined when it cannot be told. */
  errorEvent(status: Status): string | undefined {
    return this.#possible && this.#atBoundary
      ? `${JSON.stringify({ type: 'ERROR', object: status })}\n`
      : undefined;
  }
}
