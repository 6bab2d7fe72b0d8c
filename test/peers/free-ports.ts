/**
 * Ports for programs that want to be told theirs. They are free when they are given, which is as much as anybody can promise; below
 * the range that systems take for outgoing connections, in which konnectivity's server refuses to listen.
 */

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

const lowest = 20_000;
const highest = 32_000;
const attempts = 100;
const maxStarts = 3;

/** So many different ones on 127.0.0.1, of which nobody listens now. */
async function freePorts(count: number): Promise<readonly number[]> {
  await using held = new AsyncDisposableStack();
  const ports: number[] = [];
  for (let attempt = 0; attempt < attempts && ports.length < count; attempt += 1) {
    const port = randomInt(lowest, highest);
    const server = createServer();
    const listening = once(server, 'listening');
    server.listen(port, '127.0.0.1');
    try {
      await listening;
    } catch {
      // Somebody has it.
      continue;
    }
    held.use(server);
    ports.push(port);
  }
  if (ports.length < count) throw new Error(`no ${count} free ports between ${lowest} and ${highest}`);
  return ports;
}

/** A program could not listen on the port that it was told. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

/** Somebody may have taken a port between its choice and its use; then the start is tried again, with others. */
export async function withFreePorts<Started>(
  count: number,
  start: (ports: readonly number[]) => Promise<Started>,
): Promise<Started> {
  for (let attempt = 1; ; attempt += 1) {
    const ports = await freePorts(count);
    try {
      return await start(ports);
    } catch (error) {
      if (attempt === maxStarts || !(error instanceof PortTaken)) throw error;
    }
  }
}
