/** The answer on its way to the client, the same over HTTP/1.1 and HTTP/2. Whoever holds it ends it or resets it, once. */

import type { Buffer } from 'node:buffer';

export interface Reply {
  /** Whether the head has been sent. */
  readonly started: boolean;
  /** Whether no more can be sent: it was ended or reset, or the client is gone. */
  readonly closed: boolean;
  /** 0 until it has started. */
  readonly status: number;
  /** Fields of our own, sent with whatever answer it is. */
  readonly ownFields: string[];
  /** Of the body, as given to the connection. */
  readonly bytesOut: number;
  /** What comes behind on the same connection cannot be trusted or read: the connection ends with this answer. */
  endConnection(): void;
  /** Sends 100, for a client that waits with its body. */
  proceed(): void;
  /**
   * Sends the head. `flush`: at once, even when no body follows for now; else with what of the body comes within the same turn of
   * the event loop.
   */
  start(status: number, fields: readonly string[], flush: boolean): void;
  /** False when the client must be waited for: `onDrain` says when it has taken what there was. */
  write(chunk: Buffer | string): boolean;
  /** Ends it in order. */
  end(): void;
  /** Breaks it off in a way that no client takes for a good end. */
  reset(): void;
  onDrain: (() => void) | undefined;
  /** Called once, when the client has got everything or nothing can reach it any more. `complete`: the former. */
  onClosed: ((complete: boolean) => void) | undefined;
}
