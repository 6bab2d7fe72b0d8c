/** What is asked of a transport. The answer goes to an undici `Dispatcher.DispatchHandler`. */

import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

/** `unary`: ends by itself, soon. `stream`: a watch, a followed log; it has a budget of its own and no time limit. */
export type RequestKind = 'unary' | 'stream';

export const requestKinds: readonly RequestKind[] = ['unary', 'stream'];

export type RequestBody = Readable | Uint8Array | string;

export interface RequestOptions {
  readonly method: string;
  /** Origin form (RFC 9112, section 3.2.1); goes onto the wire byte for byte. */
  readonly path: string;
  /** Name, value, name, value, ... in wire order; repeated fields stay repeated. Hop-by-hop fields do not belong here. */
  readonly headers: readonly string[];
  /**
   * A stream is destroyed with the exchange once something was read from it. Before that it is left as it is: it may
   * still be sent on another connection, and then it is the caller's again. So is an `http.IncomingMessage` in any case.
   */
  readonly body?: RequestBody | null | undefined;
  /** Default `unary`. */
  readonly kind?: RequestKind | undefined;
  /** Unary only: from the call to the last byte of the body. 0: no limit. Default: the pool's `requestTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Streams only: end it when no byte came for so long although somebody reads. Default: no limit. */
  readonly silenceTimeoutMs?: number | undefined;
  /** Streams only: a known bound of its life, such as a watch's `timeoutSeconds` and a margin. Default: no limit. */
  readonly lifetimeMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * On whose behalf it is sent, for instance a proxy's caller. Where requests wait for a connection, one of each key is served in
   * turn, and when no more may wait, one of the key that has most waiting gives way. It never reaches the server.
   */
  readonly fairnessKey?: string | undefined;
}

/**
 * undici's handler. `onRequestStart` is called at once, before any waiting, so that the controller's `abort` works
 * from the first moment; then exactly one of `onResponseEnd` and `onResponseError` is called, once.
 */
export type ResponseHandler = Dispatcher.DispatchHandler;
