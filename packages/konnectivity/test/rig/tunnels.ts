/** A proxy-server, and a dialer for it whose time a test moves. */

import { once } from 'node:events';
import net from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { CertificateAuthority, KonnectivityServer, ManualClock } from '@roundhouse/simulators';
import { TunnelDialer } from '../../src/index.ts';
import type { TunnelDialerOptions } from '../../src/index.ts';

export const authority = await CertificateAuthority.create();
const client = await authority.issue({ commonName: 'gateway', usage: 'client' });

export const material = {
  secureContextOptions: () => ({ ca: authority.certificatePem, cert: client.certPem, key: client.keyPem }),
};

export interface Rig extends AsyncDisposable {
  readonly server: KonnectivityServer;
  readonly clock: ManualClock;
  readonly dialer: TunnelDialer;
}

/** Its agent answers for `c1`, and connects to `port`. */
export async function startRig(port = 0, options: Partial<TunnelDialerOptions> = {}): Promise<Rig> {
  const server = await KonnectivityServer.listen({ authority, agents: { c1: { port } } });
  const clock = new ManualClock();
  const dialer = new TunnelDialer({ servers: [server.address], tls: { material }, clock, ...options });
  return {
    server,
    clock,
    dialer,
    async [Symbol.asyncDispose]() {
      await dialer.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

export interface Target extends AsyncDisposable {
  readonly port: number;
}

/** What the agent connects to. */
export async function startTarget(onSocket: (socket: Socket) => void): Promise<Target> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
