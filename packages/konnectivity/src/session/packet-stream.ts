/**
 * The line between the protocol and what carries it: streams of messages over a session. `node:http2` is behind it; the tests put
 * `grpc-js` there, too.
 */

import type { TunnelError } from '../errors.ts';

/** How a stream ended, in gRPC's terms. */
export interface StreamEnding {
  /** Of gRPC (https://grpc.github.io/grpc/core/md_doc_statuscodes.html): 0 is OK. */
  readonly code: number;
  /** The peer's words, as they came. */
  readonly text: string;
  /** The server says that it did not look at the stream. */
  readonly refused: boolean;
  /** Of the session or the stream. */
  readonly cause?: Error | undefined;
  /** What we found wrong with what came; then that is the reason. */
  readonly fault?: TunnelError | undefined;
}

export interface PacketStreamHandler {
  /** One packet, in order. Not after `onEnd`. */
  onMessage(message: Buffer): void;
  /** The last call, and always made: nothing can be sent or will come any more. */
  onEnd(ending: StreamEnding): void;
}

export interface PacketStream {
  /** Bytes that have arrived and were not handed over yet. */
  readonly unread: number;
  /**
   * Each message in buffers one after the other. `taken` is called once, when the session has sent them, or with an error when it
   * never will.
   */
  send(messages: readonly (readonly Buffer[])[], taken?: (error?: Error | null) => void): void;
  /** Ends our side, behind all that was sent. */
  end(): void;
  /** Ends both sides now; what was not sent is not. */
  cancel(): void;
  pause(): void;
  resume(): void;
}

export interface PacketSessionEvents {
  /** No new streams; those that are open go on. */
  onDraining(why: string): void;
  /** No stream is left. Always called, once. */
  onClosed(): void;
}

export interface PacketSession {
  /** How many streams the server allows at a time. */
  readonly maxStreams: number;
  /**
   * @throws ERR_RH_TUNNEL_SERVER when the session takes no new one
   */
  open(handler: PacketStreamHandler): PacketStream;
  /** Asks for a sign of life. `answered` is called when there is one. */
  ping(answered: () => void): void;
  /** Ends when its streams have ended. */
  close(): void;
  /** Ends now; its streams end with this cause. */
  destroy(cause: Error): void;
}
