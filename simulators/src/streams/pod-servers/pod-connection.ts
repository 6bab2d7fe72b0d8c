/** A TCP connection to a server in a pod, from the server's side. There is no TCP below it: the kubelet's side is `outside`. */

import { BytePipe, type ByteSink, type ByteSource } from '../byte-pipe.ts';

/** The other side has reset the connection. */
class ConnectionReset extends Error {
  constructor() {
    super('connection reset by peer');
    this.name = 'ConnectionReset';
  }
}

export interface PodConnection extends ByteSource, ByteSink {
  /** Gives up both directions. */
  reset(): void;
}

/** Serves one connection; its directions are ended by it, or at the latest when this settles. */
export type PodServer = (connection: PodConnection) => Promise<void>;

export function podConnection(): { readonly inside: PodConnection; readonly outside: PodConnection } {
  const inward = new BytePipe(262_144);
  const outward = new BytePipe(262_144);
  const reset = (): void => {
    inward.fail(new ConnectionReset());
    outward.fail(new ConnectionReset());
  };
  const side = (from: BytePipe, to: BytePipe): PodConnection => ({
    read: async () => from.read(),
    write: async (bytes) => to.write(bytes),
    end: async () => to.end(),
    reset,
  });
  return { inside: side(inward, outward), outside: side(outward, inward) };
}
