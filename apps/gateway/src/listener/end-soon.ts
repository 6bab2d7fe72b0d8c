/** The end of a connection that is answered for the last time. */

import type { Duplex } from 'node:stream';

/** For the answer to leave and the client to go: it is small, and there is nothing more to say. */
const limitMs = 1_000;

/**
 * Ends it behind what was written, and closes it when that takes too long: a client may neither read nor go, and Node.js 24 does
 * not notice under TLS that there is none any more.
 *
 * @param sent called when everything is with the operating system
 */
export function endSoon(socket: Duplex, sent?: () => void): void {
  const limit = setTimeout(() => socket.destroy(), limitMs);
  socket.once('close', () => clearTimeout(limit));
  socket.end(sent);
}
