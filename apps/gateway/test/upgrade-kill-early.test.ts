/** Either side dies before there is a session: at the connection, in TLS, in the head, while the cluster is dialed. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { ResourceBaseline, UpgradeServer } from '@roundhouse/simulators';
import { authority, contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';
import { statusIn } from './support/clients.ts';
import { FrontClients, frontOptions } from './support/fronts.ts';
import type { Front } from './support/fronts.ts';
import { SessionClient, execPath, sessionHead } from './support/session-client.ts';
import { SteadySessions } from './support/steady-sessions.ts';

/** In each way at each moment. */
const victims = 20;
const withinMs = 2_000;

interface EarlyRig extends Rig {
  /** Accepts and is treated as the test says. */
  readonly silent: Server;
  readonly silentSockets: Set<Socket>;
  /** Nothing is left but the steady sessions, which have lost nothing. */
  settled(): Promise<void>;
}

async function openEarlyRig(
  t: TestContext,
  front: Front,
  onCluster: (socket: Socket) => void = () => undefined,
  headTimeoutMs?: number,
): Promise<EarlyRig> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const echo = stack.use(await UpgradeServer.listen({ tls: upstreamTls }));
  const silentSockets = new Set<Socket>();
  const silent = createServer({ allowHalfOpen: true }, (socket) => {
    silentSockets.add(socket);
    socket.on('error', () => undefined);
    // So that its end is noticed.
    socket.resume();
    socket.once('end', () => socket.end());
    socket.once('close', () => silentSockets.delete(socket));
    onCluster(socket);
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  stack.defer(() => void silent.close());
  const { port } = silent.address() as AddressInfo;
  const rig = await openRig(t, {
    ...frontOptions(front),
    // Each of them is to meet the cluster itself, however many have failed before.
    limits: { breakerThreshold: 0, ...(headTimeoutMs !== undefined && { headTimeoutMs }) },
    contexts: () => ({
      alpha: contextFor({ url: `https://127.0.0.1:${port}` }),
      steady: contextFor(echo),
    }),
  });
  const others = stack.use(new FrontClients(rig.gateway.url, front));
  const steady = stack.use(await SteadySessions.open(others, execPath.replace('alpha', 'steady')));
  const baseline = ResourceBaseline.take();
  const settled = async (): Promise<void> => {
    await baseline.returned({ timeoutMs: withinMs });
    await steady.finish();
  };
  return { ...rig, silent, silentSockets, settled };
}

/** A preface, settings, and a HEADERS frame of 100 bytes of which 10 are there. */
const halfFrame = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
  Buffer.from([0, 0, 100, 1, 4, 0, 0, 0, 1]),
  Buffer.alloc(10),
]);

/** What is written on the TCP connection, or on TLS over it, before the client dies. */
interface EarlyMoment {
  readonly front: Front;
  readonly what: string;
  readonly bytes: (base: string) => Buffer | string;
  readonly tls?: readonly string[];
}

const authorized = { protocol: 'websocket', fields: ['Authorization: Bearer good'] } as const;
const half = (text: string): string => text.slice(0, text.length / 2);

const moments: readonly EarlyMoment[] = [
  { front: 'plain HTTP', what: 'right after the connection', bytes: () => '' },
  { front: 'plain HTTP', what: 'in the middle of the head', bytes: (base) => half(sessionHead(base)) },
  { front: 'plain HTTP', what: 'while the cluster is dialed', bytes: (base) => sessionHead(base) },
  { front: 'TLS', what: 'right after the connection', bytes: () => '' },
  // Type, version and length of a record that does not come.
  { front: 'TLS', what: 'in the middle of the TLS handshake', bytes: () => Buffer.from('1603010200', 'hex') },
  {
    front: 'TLS',
    what: 'in the middle of the head',
    tls: ['http/1.1'],
    bytes: (base) => half(sessionHead(base, authorized)),
  },
  {
    front: 'TLS',
    what: 'while it is refused for its token',
    tls: ['http/1.1'],
    bytes: (base) => sessionHead(base, { protocol: 'websocket' }),
  },
  {
    front: 'TLS',
    what: 'while the cluster is dialed',
    tls: ['http/1.1'],
    bytes: (base) => sessionHead(base, authorized),
  },
  { front: 'HTTP/2', what: 'in the middle of the head', tls: ['h2'], bytes: () => halfFrame },
];

for (const { front, what, bytes, tls } of moments) {
  test(`BB-40: over ${front} clients die ${what}`, async (t) => {
    // Of a client that ends before its first byte of TLS, Node.js misses the end now and then: the limit of the handshake does not.
    const headTimeoutMs = front === 'TLS' && what === 'right after the connection' ? withinMs / 2 : undefined;
    const rig = await openEarlyRig(t, front, undefined, headTimeoutMs);
    const { hostname, port } = new URL(rig.gateway.url);
    const head = bytes(rig.gateway.url);
    const sockets = await Promise.all(
      Array.from({ length: 2 * victims }, async (_value, index) => {
        const bare = connect(Number(port), hostname);
        bare.on('error', () => undefined);
        const socket =
          tls === undefined
            ? bare
            : connectTls({
                socket: bare,
                ca: authority.certificatePem,
                servername: 'localhost',
                ALPNProtocols: [...tls],
              });
        socket.on('error', () => undefined);
        await once(socket, tls === undefined ? 'connect' : 'secureConnect');
        socket.write(head);
        socket.resume();
        return { bare, socket, way: index % 2 === 0 ? 'fin' : 'rst' };
      }),
    );
    if (what.includes('dialed')) {
      while (rig.silentSockets.size < sockets.length) await once(rig.silent, 'connection');
    }
    for (const { bare, socket, way } of sockets) {
      if (way === 'fin') socket.end();
      // One that was answered has sent its FIN, after which Node.js loses the descriptor over a reset.
      else if (socket.writableEnded) socket.destroy();
      else bare.resetAndDestroy();
    }
    await rig.settled();
    assert.equal(rig.silentSockets.size, 0);
  });
}

for (const way of ['fin', 'rst'] as const) {
  for (const what of ['right after the connection', 'in the middle of the TLS handshake'] as const) {
    test(`BB-40: the cluster goes by ${way} ${what}: its clients are told at once`, async (t) => {
      const rig = await openEarlyRig(t, 'plain HTTP', (socket) => {
        const go = (): void => {
          if (way === 'fin') socket.end();
          else socket.resetAndDestroy();
        };
        if (what === 'right after the connection') go();
        else socket.once('data', go);
      });
      await Promise.all(
        Array.from({ length: victims }, async () => {
          using client = await SessionClient.open(rig.gateway.url, { early: 'early' });
          await client.gone();
          assert.equal(client.status, 502);
          assert.match(statusIn(client.body).error, /^ERR_RH_(?:DIAL|TLS)_FAILED$/);
        }),
      );
      await rig.settled();
    });
  }
}
