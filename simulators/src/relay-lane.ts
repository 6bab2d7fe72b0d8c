/**
 * One direction of a relayed connection. It holds at most one chunk, and takes the next from its source when its sink has taken that
 * one, so back-pressure passes through and "stop" means stop: nothing of a frozen lane is on its way any more.
 */

import type { Socket } from 'node:net';

/** How often a throttled lane moves something; a piece is what the rate allows in that time. */
const throttledPieceMs = 20;

export class RelayLane {
  readonly #source: Socket;
  readonly #sink: Socket;
  #inHand: Buffer | undefined;
  #writing = false;
  #sourceEnded = false;
  #discarding = false;
  #frozen: boolean;
  #bytesPerSecond: number | undefined;
  /** Set while a throttled lane waits for its next piece. */
  #pause: NodeJS.Timeout | undefined;
  #bytes = 0;

  constructor(source: Socket, sink: Socket, frozen: boolean, bytesPerSecond: number | undefined) {
    this.#source = source;
    this.#sink = sink;
    this.#frozen = frozen;
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Begins to move bytes, unless frozen. The lane ends with its sockets. */
  open(): void {
    this.#source.pause();
    this.#source.on('data', (chunk: Buffer) => {
      if (this.#discarding) return;
      this.#inHand = chunk;
      this.#source.pause();
      this.#move();
    });
    this.#source.once('end', () => {
      this.#sourceEnded = true;
      this.#move();
    });
    this.#sink.once('close', () => this.#stop());
    this.#move();
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** Bytes handed on so far. */
  get bytes(): number {
    return this.#bytes;
  }

  freeze(): void {
    this.#frozen = true;
    this.#source.pause();
  }

  thaw(): void {
    this.#frozen = false;
    this.#move();
  }

  throttle(bytesPerSecond: number | undefined): void {
    this.#bytesPerSecond = bytesPerSecond;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#move();
  }

  /** Ends the sink now; what still comes from the source is dropped, so that its end is noticed. */
  cut(): void {
    this.#discarding = true;
    this.#stop();
    this.#sink.end();
    this.#source.resume();
  }

  #stop(): void {
    this.#inHand = undefined;
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  #move(): void {
    if (this.#frozen || this.#discarding || this.#writing || this.#pause !== undefined) return;
    const chunk = this.#inHand;
    if (chunk === undefined) {
      if (this.#sourceEnded) this.#sink.end();
      else this.#source.resume();
      return;
    }
    const rate = this.#bytesPerSecond;
    const piece =
      rate === undefined
        ? chunk
        : chunk.subarray(0, Math.max(1, Math.floor((rate * throttledPieceMs) / 1000)));
    this.#inHand = piece.length < chunk.length ? chunk.subarray(piece.length) : undefined;
    this.#writing = true;
    this.#sink.write(piece, () => {
      this.#writing = false;
      this.#bytes += piece.length;
      if (rate === undefined || this.#sink.destroyed) {
        this.#move();
        return;
      }
      this.#pause = setTimeout(
        () => {
          this.#pause = undefined;
          this.#move();
        },
        (piece.length / rate) * 1000,
      );
    });
  }
}
