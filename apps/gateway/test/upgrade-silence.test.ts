/** A quiet session lives as long as it is wanted; one with a side that is gone without a sign ends within its bound. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SessionClient } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const webSocketPing = '\x89\x80\x00\x00\x00\x00';
const spdyPing = '\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01';

for (const [protocol, ping] of [
  ['websocket', webSocketPing],
  ['SPDY/3.1', spdyPing],
] as const) {
  test(`BB-48: ${protocol}: a cluster that answers no ping is given up, and so is the client`, async (t) => {
    const { gateway, server, waitForLog } = await openSessions(
      t,
      { answer: (connection) => void connection.write(connection.switchingHead()) },
      { limits: { sessionStallTimeoutMs: 200 } },
    );
    using client = await SessionClient.open(gateway.url, { protocol });
    await client.answered();
    client.socket.write(ping, 'latin1');
    await client.closes();
    await server.waitForOpen(0);
    assert.equal(client.ended, false);
    const line = await waitForLog(({ msg }) => msg === 'request');
    assert.equal(line['error'], 'ERR_RH_SESSION_STALLED');
    assert.equal(line['code'], 101);
  });

  test(`${protocol}: a quiet session lives, pings that are answered or none`, async (t) => {
    const stallTimeoutMs = 100;
    const { gateway, server } = await openSessions(
      t,
      {
        answer: (connection) => {
          void connection.write(connection.switchingHead());
          connection.socket.on('data', () => connection.socket.write('pong'));
        },
      },
      { limits: { sessionStallTimeoutMs: stallTimeoutMs } },
    );
    using quiet = await SessionClient.open(gateway.url, { protocol });
    using pinging = await SessionClient.open(gateway.url, { protocol });
    await Promise.all([quiet.answered(), pinging.answered()]);
    pinging.socket.write(ping, 'latin1');
    await pinging.until(() => pinging.body === 'pong');
    // That nothing happens for several times the bound can only be waited for.
    await sleep(5 * stallTimeoutMs);
    assert.equal(server.open, 2);
    quiet.socket.write(ping, 'latin1');
    await quiet.until(() => quiet.body === 'pong');
  });
}

for (const stalled of ['client', 'cluster'] as const) {
  test(`a ${stalled} that takes nothing of what waits for it is given up, and so is the other side`, async (t) => {
    const { gateway, server, waitForLog } = await openSessions(
      t,
      {
        answer: (connection) => {
          void connection.write(connection.switchingHead());
          connection.socket.pause();
        },
      },
      { limits: { sessionStallTimeoutMs: 300 } },
    );
    using client = await SessionClient.open(gateway.url);
    await client.answered();
    client.socket.pause();
    const connection = await server.head();
    const source = stalled === 'client' ? connection.socket : client.socket;
    const push = (): void => {
      while (!source.destroyed && source.write(Buffer.alloc(65_536, 1)));
    };
    source.on('drain', push);
    push();
    const line = await waitForLog(({ msg }) => msg === 'request');
    assert.equal(line['error'], 'ERR_RH_SESSION_STALLED');
    assert.match(String(line['reason']), new RegExp(`the ${stalled} took nothing`));
    // Read on to see the end. Of a reset that came while it did not read, Node.js 24 tells as of an end in order.
    client.socket.resume();
    connection.socket.resume();
    await client.gone();
    await server.waitForOpen(0);
  });
}

test('BB-39: when one side has ended, the other one may go on, but not in silence for ever', async (t) => {
  const { gateway, server, waitForLog } = await openSessions(
    t,
    {
      allowHalfOpen: true,
      answer: (connection) => void connection.write(connection.switchingHead()),
    },
    { limits: { sessionHalfClosedTimeoutMs: 300 } },
  );
  using client = await SessionClient.open(gateway.url);
  await client.answered();
  client.socket.end();
  const connection = await server.head();
  await server.until(
    () => connection.ended,
    () => 'the end of the client',
  );
  for (let piece = 1; piece <= 6; piece += 1) {
    await sleep(100);
    await connection.write('x');
    await client.until(() => client.body.length === piece);
  }
  const line = await waitForLog(({ msg }) => msg === 'request');
  assert.equal(line['error'], 'ERR_RH_SESSION_STALLED');
  await client.closes();
  assert.equal(client.ended, false);
  // Its FIN was sent long before: that there is nobody any more shows when something is sent there, the second time.
  while (server.open > 0) {
    await connection.write('anybody?');
    await sleep(10);
  }
});
