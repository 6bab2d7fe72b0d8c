/** Whatever a server answers, in whatever pieces: it is a switch that answers what was asked, an ordinary answer, or an error of ours. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpgradeServer, fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { Endpoint, RoundhouseError, TransportPool } from '@roundhouse/transport';
import type { UpgradeOptions } from '@roundhouse/transport';
import { endsWithNothingOpen } from './rig/open-handles.ts';

endsWithNothingOpen();

const key = 'dGhlIHNhbXBsZSBub25jZQ==';
const accept = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

const questions: Readonly<Record<string, UpgradeOptions>> = {
  'SPDY/3.1': { method: 'POST', path: '/exec', protocol: 'SPDY/3.1', headers: [] },
  websocket: {
    method: 'GET',
    path: '/exec',
    protocol: 'websocket',
    headers: ['Sec-WebSocket-Key', key, 'Sec-WebSocket-Version', '13', 'Sec-WebSocket-Protocol', 'a, b'],
  },
};

const line = fc.oneof(
  { weight: 4, arbitrary: fc.constant('HTTP/1.1 101 Switching Protocols') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'HTTP/1.1 200 OK',
      'HTTP/1.1 403 Forbidden',
      'HTTP/1.1 304 Not Modified',
      'HTTP/1.1 100 Continue',
      'HTTP/1.0 101 Switching Protocols',
      'HTTP/1.1 1010 X',
      'HTTP/1.1 99 X',
      'HTTP/2 101 X',
      'http/1.1 101 x',
      '',
    ),
  },
);

const field = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Upgrade: SPDY/3.1',
      `Sec-WebSocket-Accept: ${accept}`,
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'connection: keep-alive, UPGRADE',
      'Connection: close',
      'upgrade: WebSocket',
      'Upgrade: h2c',
      'Upgrade: websocket, SPDY/3.1',
      'Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=',
      'Sec-WebSocket-Protocol: a',
      'Sec-WebSocket-Protocol: c',
      'Sec-WebSocket-Protocol: a, b',
      'Sec-WebSocket-Extensions: x',
      'Content-Length: 3',
      'Content-Length: 4',
      'Transfer-Encoding: chunked',
      'Content-Type: text/plain',
    ),
  },
  {
    weight: 1,
    // Without what would end the head.
    arbitrary: fc
      .string({ unit: 'binary', minLength: 1, maxLength: 20 })
      .filter((text) => !/[\r\n]/.test(text)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(' folded', 'No colon', ': no name', 'X : blank', 'X: a\rb', 'X: \0'),
  },
);

const answer = fc.record({
  line,
  fields: fc.array(field, { maxLength: 7 }),
  newline: fc.constantFrom('\r\n', '\r\n', '\r\n', '\n'),
  rest: fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  cuts: fc.array(fc.nat(60), { maxLength: 4 }),
});

test('a switch is one that was asked for, all else leaves no connection', async () => {
  for (const [protocol, options] of Object.entries(questions)) {
    let bytes = Buffer.alloc(0);
    let cuts: readonly number[] = [];
    await using server = await UpgradeServer.listen({
      answer: ({ socket }) => {
        let at = 0;
        const write = (index: number): void => {
          const cut = cuts[index];
          if (cut === undefined) {
            socket.end(bytes.subarray(at));
            return;
          }
          socket.write(bytes.subarray(at, at + cut));
          at += cut;
          setImmediate(write, index + 1);
        };
        write(0);
      },
    });
    await using pool = new TransportPool({ limits: { requestTimeoutMs: 5_000, drainTimeoutMs: 1 } });
    const identity = pool.identity('cluster', Endpoint.from({ url: server.url }));
    let switched = 0;
    await fc.assert(
      fc.asyncProperty(answer, async (given) => {
        bytes = Buffer.from([given.line, ...given.fields, '', given.rest].join(given.newline), 'latin1');
        ({ cuts } = given);
        try {
          const got = await identity.upgrade(options);
          if (got.switched) {
            switched += 1;
            assert.match(given.line, /^HTTP\/1\.[01] 101/);
            assert.equal(got.headers.upgrade?.toLowerCase(), protocol.toLowerCase());
            if (protocol === 'websocket') {
              assert.equal(got.headers['sec-websocket-accept'], accept);
              assert.ok([undefined, 'a', 'b'].includes(got.headers['sec-websocket-protocol']));
              assert.equal(got.headers['sec-websocket-extensions'], undefined);
            }
            const chunks: Buffer[] = [];
            for await (const chunk of got.socket) {
              assert.ok(Buffer.isBuffer(chunk));
              chunks.push(chunk);
            }
            got.socket.destroy();
            assert.equal(Buffer.concat(chunks).toString('latin1'), given.rest);
          } else {
            assert.notEqual(got.statusCode, 101);
          }
        } catch (error) {
          assert.ok(RoundhouseError.is(error), String(error));
        }
        await server.waitForOpen(0);
        assert.equal(server.connections.at(-1)?.bytes ?? 0, 0);
        assert.equal(pool.inspect().totals.upgrades, 0);
        server.connections.length = 0;
      }),
      fuzzRuns(300),
    );
    assert.ok(switched > 0, `no answer switched to ${protocol}, so nothing was tested`);
  }
});
