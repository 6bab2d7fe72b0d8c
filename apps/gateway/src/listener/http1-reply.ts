import type { ServerResponse } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Reply } from './reply.ts';
import type { TurnEnd } from './turn-end.ts';

/** A body that is still to come and longer than this is not worth reading for the sake of the connection. */
const maxLeftoverBytes = 262_144;

/** The connections of the front, as an answer sees them. */
export interface Http1ReplyOptions {
  readonly response: ServerResponse;
  /** Whether the connection is to end after this answer. */
  readonly closing: () => boolean;
  readonly turnEnd: TurnEnd;
  /** Nothing more comes of it, however it ended. */
  readonly onOver: () => void;
}

export class Http1Reply implements Reply {
  readonly ownFields: string[] = [];
  onDrain: (() => void) | undefined;
  onClosed: ((complete: boolean) => void) | undefined;
  readonly #options: Http1ReplyOptions;
  readonly #response: ServerResponse;
  #bytesOut = 0;
  #proceeded = false;
  #last = false;
  /** The head has left for the connection. */
  #headSent = false;
  /** The first piece of the body, to the end of the turn at the latest: most answers end with it. */
  #held: Buffer | string | undefined;
  #drainHeard = false;
  /** Nothing more comes, whether or not all of it has left. */
  #ended = false;

  constructor(options: Http1ReplyOptions) {
    this.#options = options;
    this.#response = options.response;
    this.#response.on('close', () => {
      options.onOver();
      this.onClosed?.(this.#response.writableFinished);
    });
    // A client that goes away makes errors here; `close` follows and says all that matters.
    this.#response.on('error', nothing);
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  get closed(): boolean {
    return this.#ended || this.#response.writableEnded || this.#response.destroyed;
  }

  get status(): number {
    return this.started ? this.#response.statusCode : 0;
  }

  get bytesOut(): number {
    return this.#bytesOut;
  }

  endConnection(): void {
    this.#last = true;
  }

  proceed(): void {
    if (!this.#proceeded && !this.started && !this.closed) {
      this.#proceeded = true;
      this.#response.writeContinue();
    }
  }

  start(status: number, fields: readonly string[], flush: boolean): void {
    const response = this.#response;
    const connection =
      this.#last || this.#options.closing() || this.#leavesBodyUnread() ? ['Connection', 'close'] : [];
    response.writeHead(status, [...fields, ...this.ownFields, ...connection]);
    if (flush) {
      this.leave();
    } else {
      this.#options.turnEnd.add(this);
    }
  }

  /** At the end of the turn in which it started, unless more than one piece of the body came within that. */
  leave(): void {
    if (this.#headSent || this.#response.destroyed) {
      return;
    }
    if (this.#ended) {
      this.#headSent = true;
      this.#response.end(this.#held);
    } else if (this.#held === undefined) {
      this.#headSent = true;
      this.#response.flushHeaders();
    } else {
      this.#send(this.#held);
    }
  }

  write(chunk: Buffer | string): boolean {
    this.#bytesOut += Buffer.byteLength(chunk);
    if (!this.#headSent && this.#held === undefined) {
      this.#held = chunk;
      return true;
    }
    if (this.#held !== undefined) {
      this.#send(this.#held);
    }
    return this.#send(chunk);
  }

  end(): void {
    this.#ended = true;
    if (this.#headSent) {
      this.#response.end();
    }
  }

  #send(chunk: Buffer | string): boolean {
    this.#headSent = true;
    this.#held = undefined;
    const taken = this.#response.write(chunk);
    if (!taken && !this.#drainHeard) {
      this.#drainHeard = true;
      this.#response.on('drain', () => this.onDrain?.());
    }
    return taken;
  }

  reset(): void {
    const { socket } = this.#response;
    // Where the end of the connection is the end of the body (HTTP/1.0), only a reset is not a good end.
    if (socket !== null && !(socket instanceof TLSSocket)) {
      socket.resetAndDestroy();
    } else {
      this.#response.destroy();
    }
  }

  /** The rest of a body that nobody wanted stands before the next request on the connection. */
  #leavesBodyUnread(): boolean {
    const { req } = this.#response;
    if (req.complete) {
      return false;
    }
    const length = Number(req.headers['content-length'] ?? Number.NaN);
    const expected = req.headers.expect !== undefined && !this.#proceeded;
    return expected || req.headers['transfer-encoding'] !== undefined || length > maxLeftoverBytes;
  }
}

function nothing(): void {}
