/**
 * Whatever fields a client sends, for a request or for an upgrade, the cluster is told who is calling by the gateway alone; what
 * is not refused goes on in its order, and the gateway lives.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { codeOf, sendRaw } from './support/clients.ts';
import { execPath } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const name = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'Impersonate-User',
      'impersonate-group',
      'Impersonate_User',
      'IMPERSONATE-EXTRA-a',
      'Impersonate-Uid',
      'X-Remote-User',
      'x_remote_group',
      'X-Remote-Extra-scopes',
      'Authorization',
      'authorization',
      'Connection',
      'connection',
      'Keep-Alive',
      'TE',
      'Trailer',
      'Proxy-Connection',
      'Proxy-Authorization',
      'Host',
      'Upgrade',
      'HTTP2-Settings',
      'Content-Length',
      'Transfer-Encoding',
      'Expect',
      'Cookie',
      'traceparent',
      'Sec-WebSocket-Protocol',
      'Sec-WebSocket-Extensions',
      'X-Stream-Protocol-Version',
      'X-Plain',
      'x-plain',
    ),
  },
  { weight: 1, arbitrary: fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
);

const value = fc.oneof(
  fc.constantFrom(
    '',
    'root',
    'system:masters',
    'Bearer good',
    'Bearer other',
    'Impersonate-User',
    'Upgrade, Impersonate-User',
    'keep-alive, Upgrade',
    'close',
    'upgrade,,\tx-plain ,',
    'authorization',
    'websocket',
    'SPDY/3.1',
    'h2c',
    '0',
    '5',
    'chunked',
    '100-continue',
    'trailers',
    'v4.channel.k8s.io, v5.channel.k8s.io',
    'base64url.bearer.authorization.k8s.io.Z29vZA, v4.channel.k8s.io',
    'base64url.bearer.authorization.k8s.io.!!',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);

const start = fc.constantFrom(
  [`POST ${execPath}`, 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n'],
  [
    `GET ${execPath}`,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
  ],
  ['GET /clusters/alpha/api/v1/pods', ''],
  ['GET /clusters/alpha/api/v1/pods?watch=1', ''],
);

/** Only these may be refused with: 502 for what the cluster makes of it, 504 for a body that does not come. A 500 is a fault of ours. */
const refusals: ReadonlySet<number> = new Set([400, 401, 403, 405, 408, 411, 413, 417, 431, 502, 504]);

test('no field of a client speaks for somebody to a cluster', async (t) => {
  const { gateway, server } = await openSessions(
    t,
    {
      answer: (connection) =>
        void connection.socket.end(
          connection.values('upgrade').length > 0
            ? connection.switchingHead()
            : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok',
        ),
    },
    {
      tls: true,
      tokens: ['good,joe,uid-1,dev', 'other,eve,uid-2,'],
      limits: { headTimeoutMs: 2_000, uploadSilenceMs: 300, requestTimeoutMs: 1_000 },
    },
  );
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(
      start,
      fc.array(fc.tuple(name, value), { maxLength: 6 }),
      async ([line, own], fields) => {
        const before = server.connections.length;
        const text = fields.map(([fieldName, fieldValue]) => `${fieldName}: ${fieldValue}\r\n`).join('');
        const raw = await sendRaw(
          gateway.url,
          `${line} HTTP/1.1\r\nHost: ${new URL(gateway.url).host}\r\nAuthorization: Bearer good\r\n${own}${text}\r\n`,
          { end: true },
        );
        const code = codeOf(raw);
        assert.ok(
          raw === '' || code === 200 || code === 101 || refusals.has(code),
          `answered ${raw.slice(0, 900)}`,
        );
        // A request whose body does not come may never be sent.
        for (const connection of server.connections.splice(before).filter(({ head }) => head !== '')) {
          answered += 1;
          assert.deepEqual(connection.values('impersonate-user'), ['joe']);
          assert.deepEqual(connection.values('impersonate-uid'), ['uid-1']);
          assert.deepEqual(connection.values('impersonate-group'), ['dev']);
          assert.deepEqual(connection.values('authorization'), ['Bearer gateway-token']);
          const names = connection.fields.map(([present]) => present.toLowerCase().replaceAll('_', '-'));
          const foreign = names.filter((present) =>
            /^(?:x-remote-|impersonate-(?!user$|uid$|group$)|proxy-|http2-settings|te$|keep-alive$|trailer$)/.test(
              present,
            ),
          );
          assert.deepEqual(foreign, []);
          assert.ok(
            connection.values('upgrade').length === 0 ||
              !connection.values('sec-websocket-protocol').join(',').includes('base64url.bearer'),
          );
        }
      },
    ),
    fuzzRuns(150),
  );
  assert.ok(answered > 0, 'no request reached the cluster, so nothing was tested');
});
