/** One direction of a session: what one side sends, the other one gets, as fast as it takes it; and so its end. */

import type { Duplex } from 'node:stream';
import type { SessionSide } from '../listener/upgrade-reply.ts';

/** While nothing is read of a side, its reset is not noticed by itself. */
const lookMs = 250;

export interface SessionLaneEvents {
  readonly passed: (chunk: Buffer) => void;
  /** The source has ended in good order, and the sink has been told. */
  readonly ended: () => void;
  /** The sink has taken nothing for the whole time. */
  readonly stalled: () => void;
}

export class SessionLane {
  readonly #side: SessionSide;
  readonly #source: Duplex;
  readonly #sink: Duplex;
  readonly #stallTimeoutMs: number;
  readonly #events: SessionLaneEvents;
  #stall: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(source: SessionSide, sink: Duplex, stallTimeoutMs: number, events: SessionLaneEvents) {
    this.#side = source;
    this.#source = source.socket;
    this.#sink = sink;
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#events = events;
  }

  /** Whether the source has ended in good order. */
  get ended(): boolean {
    return this.#ended;
  }

  start(): void {
    this.#source.on('data', this.#pass);
    this.#source.on('end', this.#end);
    this.#sink.on('drain', this.#drained);
    this.#source.resume();
    if (this.#source.readableEnded) {
      // A stream of HTTP/2 that ended with nothing to read says so at once, and not again.
      this.#end();
    }
  }

  stop(): void {
    clearTimeout(this.#stall);
    clearInterval(this.#looking);
    this.#source.off('data', this.#pass);
    this.#source.off('end', this.#end);
    this.#sink.off('drain', this.#drained);
  }

  readonly #pass = (chunk: Buffer): void => {
    this.#events.passed(chunk);
    if (!this.#sink.writable || this.#sink.write(chunk)) {
      return;
    }
    this.#source.pause();
    this.#stall ??= setTimeout(this.#events.stalled, this.#stallTimeoutMs);
    this.#looking ??= setInterval(() => this.#side.look(), lookMs);
  };

  readonly #drained = (): void => {
    clearTimeout(this.#stall);
    this.#stall = undefined;
    clearInterval(this.#looking);
    this.#looking = undefined;
    this.#source.resume();
  };

  readonly #end = (): void => {
    if (wasReset(this.#source)) {
      return;
    }
    this.#ended = true;
    // Node.js 24 reports a reset that comes together with the last bytes as an end in good order.
    this.#side.look();
    // Later: within an event of the sink's own, TLS loses what has already come behind that.
    setImmediate(this.#endSink);
    this.#events.ended();
  };

  readonly #endSink = (): void => {
    if (this.#sink.destroyed || this.#source.errored !== null) {
      return;
    }
    this.#sink.end();
    if (this.#sink.writableLength > 0) {
      // What is left must still be taken.
      this.#stall ??= setTimeout(this.#events.stalled, this.#stallTimeoutMs);
    }
  };
}

/** Of an HTTP/2 stream Node.js says that it ended also when it was reset. */
function wasReset(source: Duplex): boolean {
  return (
    ('aborted' in source && source.aborted === true) ||
    ('rstCode' in source && typeof source.rstCode === 'number' && source.rstCode !== 0)
  );
}
