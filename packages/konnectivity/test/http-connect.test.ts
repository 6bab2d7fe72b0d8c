/** The mode http-connect: what is behind the head belongs to the tunnel, and a refusal has its words. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import type { Socket } from 'node:net';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TunnelDialer } from '../src/index.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

interface Rig {
  readonly dialer: TunnelDialer;
  readonly sockets: readonly Socket[];
}

/** @param answer called when the question was read whole */
async function withServer(
  answer: (socket: Socket) => void,
  check: (rig: Rig) => Promise<void>,
): Promise<void> {
  await using place = await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-connect-'));
  const file = path.join(place.path, 'server.sock');
  const sockets: Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', (chunk: Buffer) => {
      assert.equal(chunk.toString(), 'CONNECT c1:443 HTTP/1.1\r\nHost: c1:443\r\n\r\n');
      answer(socket);
    });
  });
  server.listen(file);
  await once(server, 'listening');
  const dialer = new TunnelDialer({ servers: [`unix:${file}`], mode: 'http-connect' });
  try {
    await check({ dialer, sockets });
    await dialer.destroy();
    await until(() => sockets.every(({ destroyed }) => destroyed), 'no connection open');
  } finally {
    server.close();
    for (const socket of sockets) socket.destroy();
  }
}

const yes = 'HTTP/1.1 200 Connection Established\r\n\r\n';

suite('HTTP CONNECT', () => {
  test('every byte behind the head is the tunnel, wherever the answer is cut', async () => {
    const whole = `${yes}first bytes`;
    for (let cut = 1; cut < whole.length; cut += 3) {
      await withServer(
        (socket) => {
          socket.write(whole.slice(0, cut));
          void nextTurn().then(() => socket.end(whole.slice(cut)));
        },
        async ({ dialer }) => {
          let said = '';
          for await (const chunk of await dialer.dial('c1:443')) said += String(chunk);
          assert.equal(said, 'first bytes');
        },
      );
    }
  });

  for (const [status, body, code] of [
    [500, 'currently no tunnels available: No agent available', 'ERR_RH_TUNNEL_NO_AGENT'],
    [502, 'dial tcp 10.0.0.1:443: connect: connection refused', 'ERR_RH_TUNNEL_DIAL'],
    [503, 'dial tcp: too many open files', 'ERR_RH_TUNNEL_DIAL'],
    [504, 'dial tcp: i/o timeout', 'ERR_RH_TUNNEL_DIAL'],
    [405, 'this proxy only supports CONNECT passthrough', 'ERR_RH_TUNNEL_SERVER'],
  ] as const) {
    test(`BB-71: ${status} is ${code} with the words of its body, and no connection is left`, async () => {
      await withServer(
        (socket) => socket.end(`HTTP/1.1 ${status} No\r\nConnection: close\r\n\r\n${body}\n`),
        async ({ dialer }) => {
          await assert.rejects(dialer.dial('c1:443'), (error: Error & { code?: string }) => {
            assert.ok(error.message.includes(body), error.message);
            return error.code === code;
          });
        },
      );
    });
  }

  for (const [what, bytes] of Object.entries({
    'nothing at all': '',
    'no HTTP': 'SSH-2.0-x\r\n',
    'no status': 'HTTP/1.1 yes\r\n\r\n',
    'a head of 64 KiB': `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(11_000)}\r\n`,
  })) {
    test(`${what} is an error of the protocol`, async () => {
      await withServer(
        (socket) => socket.end(bytes),
        async ({ dialer }) => {
          await assert.rejects(dialer.dial('c1:443'), { code: 'ERR_RH_TUNNEL_PROTOCOL' });
        },
      );
    });
  }
});
