/** Whatever a proxy says, in whatever pieces: it is a tunnel whose first byte is the one behind a good answer, or an error of ours. */

import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { TransportError, proxyDialer } from '@roundhouse/transport';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { RawServer } from './rig/raw-server.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const cuts = fc.array(fc.nat(40), { maxLength: 6 });

const httpAnswer = fc.record({
  line: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('HTTP/1.1 200 OK', 'HTTP/1.0 200', 'HTTP/1.1 200 ') },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        'HTTP/1.1 407 No',
        'HTTP/1.1 502',
        'HTTP/1.1 20',
        'HTTP/1.1 2000',
        'HTTP/1.1  200 OK',
        'HTTP/2 200 OK',
        'http/1.1 200 OK',
        '200 OK',
        '',
      ),
    },
    { weight: 1, arbitrary: fc.string({ maxLength: 30 }) },
  ),
  fields: fc.array(
    fc.oneof(
      fc.constantFrom('Content-Length: 5', 'Transfer-Encoding: chunked', 'X: a\rb', ' folded', 'no colon'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }).filter((text) => !/[\r\n]/.test(text)),
    ),
    { maxLength: 4 },
  ),
  newline: fc.constantFrom('\r\n', '\r\n', '\n'),
  rest: bytes(30),
});

const socksAddress = fc.oneof(
  fc.nat(255).map((digit) => Buffer.concat([Buffer.from([1]), Buffer.alloc(4, digit)])),
  fc.nat(255).map((digit) => Buffer.concat([Buffer.from([4]), Buffer.alloc(16, digit)])),
  bytes(255).map((name) => Buffer.concat([Buffer.from([3, name.length]), name])),
);
const byte = (usual: number) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.nat(255) });
const socksAnswer = fc.record({
  version: byte(5),
  method: fc.oneof({ weight: 6, arbitrary: fc.constantFrom(0, 2) }, { weight: 1, arbitrary: fc.nat(255) }),
  status: byte(0),
  answerVersion: byte(5),
  reply: byte(0),
  address: fc.oneof({ weight: 9, arbitrary: socksAddress }, { weight: 1, arbitrary: bytes(8) }),
  rest: bytes(30),
});

interface Rig {
  /** @returns what came through the tunnel, or the error */
  dial(answer: Buffer, pieces: readonly number[]): Promise<Buffer | TransportError>;
}

/** A proxy that says this from the moment that it was asked something. */
async function withProxy(scheme: 'http' | 'socks5h', use: (rig: Rig) => Promise<void>): Promise<void> {
  let said: Buffer = Buffer.alloc(0);
  let pieces: readonly number[] = [];
  await using proxy = await RawServer.listen((socket) => {
    let at = 0;
    const write = (index: number): void => {
      const piece = pieces[index];
      if (socket.destroyed) return;
      if (piece === undefined) {
        socket.end(said.subarray(at));
        return;
      }
      socket.write(said.subarray(at, at + piece));
      at += piece;
      setImmediate(write, index + 1);
    };
    socket.once('data', () => write(0));
    socket.on('end', () => socket.end());
    socket.resume();
  });
  const dialer = proxyDialer({ url: `${scheme}://u:p@127.0.0.1:${proxy.port}` });
  await use({
    async dial(answer, cutAt) {
      said = answer;
      pieces = cutAt;
      const { signal } = new AbortController();
      try {
        const tunnel = await dialer.dial({ host: 'cluster.test', port: 1 }, { signal });
        return await buffer(tunnel);
      } catch (error) {
        assert.ok(error instanceof TransportError, String(error));
        return error;
      } finally {
        await until(() => proxy.open === 0, 'nothing open');
        proxy.sockets.length = 0;
      }
    },
  });
}

test('HTTP CONNECT: only a status line with 200 and an empty line behind it make a tunnel', async () => {
  await withProxy('http', async ({ dial }) => {
    let opened = 0;
    await fc.assert(
      fc.asyncProperty(httpAnswer, cuts, async ({ line, fields, newline, rest }, pieces) => {
        const head = Buffer.from([line, ...fields, '', ''].join(newline), 'latin1');
        const good = /^HTTP\/1\.[01] 200(?: .*)?$/.test(line);
        const got = await dial(Buffer.concat([head, rest]), pieces);
        assert.equal(Buffer.isBuffer(got), good, `${JSON.stringify(line)}: ${String(got)}`);
        if (Buffer.isBuffer(got)) {
          opened += 1;
          assert.deepEqual(got, rest);
        }
      }),
      fuzzRuns(300),
    );
    assert.ok(opened > 0, 'no answer opened a tunnel, so nothing was tested');
  });
});

test('SOCKS5: only a yes to every question makes a tunnel', async () => {
  await withProxy('socks5h', async ({ dial }) => {
    let opened = 0;
    await fc.assert(
      fc.asyncProperty(socksAnswer, cuts, async (given, pieces) => {
        const { version, method, status, answerVersion, reply, address, rest } = given;
        const head = [version, method, ...(method === 2 ? [1, status] : []), answerVersion, reply, 0];
        const good =
          version === 5 &&
          (method === 0 || (method === 2 && status === 0)) &&
          answerVersion === 5 &&
          reply === 0;
        const got = await dial(Buffer.concat([Buffer.from(head), address, Buffer.alloc(2), rest]), pieces);
        if (Buffer.isBuffer(got)) {
          assert.ok(good, 'it was no yes');
          opened += 1;
          const whole = { 1: 5, 4: 17, 3: 2 + (address[1] ?? 0) }[address[0] ?? 0];
          if (whole === address.length) {
            assert.deepEqual(got, rest);
          }
        } else if (good && [1, 3, 4].includes(address[0] ?? 0)) {
          assert.match(got.message, /ended the connection/);
        }
      }),
      fuzzRuns(300),
    );
    assert.ok(opened > 0, 'no answer opened a tunnel, so nothing was tested');
  });
});
