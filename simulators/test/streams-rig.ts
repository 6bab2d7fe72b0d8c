/** Two ends of a connection in memory, for tests of what is spoken over one. */

import { BytePipe } from '../src/streams/byte-pipe.ts';
import { ConnectionGone, type ByteConnection } from '../src/streams/byte-connection.ts';

/** What is written is read at the other end in the same pieces. `limitBytes`: unread bytes before a writer waits. */
export function connectionPair(limitBytes = 65_536): readonly [ByteConnection, ByteConnection] {
  const forth = new BytePipe(limitBytes);
  const back = new BytePipe(limitBytes);
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const side = (from: BytePipe, to: BytePipe): ByteConnection => ({
    closed,
    async *chunks() {
      for (let chunk = await from.read(); chunk !== undefined; chunk = await from.read()) yield chunk;
    },
    write: async (bytes) => to.write(bytes),
    end: () => void to.end(),
    destroy() {
      from.fail(new ConnectionGone());
      to.fail(new ConnectionGone());
      resolve();
    },
  });
  return [side(back, forth), side(forth, back)];
}

/** The same bytes in two pieces, split at every place. */
export function* splits(bytes: Buffer): Generator<readonly [Buffer, Buffer]> {
  for (let at = 0; at <= bytes.length; at += 1) yield [bytes.subarray(0, at), bytes.subarray(at)];
}

/** Whether a promise has settled by the time everything that was ready to run has run. */
export async function settlesSoon(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  promise.then(note, note);
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

/** Written as `00000003 00000002 6869`. */
export function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex');
}
