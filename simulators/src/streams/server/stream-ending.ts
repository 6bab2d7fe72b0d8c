/**
 * How a server ends a stream that is over. A fault may leave half of it out:
 * - `complete`: the protocol's own goodbye (close frame, GOAWAY), then FIN
 * - `goodbye-only`: no FIN; the connection stays open until the peer closes it
 * - `fin-only`: no goodbye
 */
export type StreamEnding = 'complete' | 'goodbye-only' | 'fin-only';
