/** However the bytes are cut on their way, they mean the same; and what stands behind a head is neither lost nor passed on too soon. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UpgradeConnection } from '@roundhouse/simulators';
import { frontOptions } from './support/fronts.ts';
import { SessionClient, execPath, sessionHead } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const protocols = ['SPDY/3.1', 'websocket'] as const;
/** So that a first piece is a piece of its own to whoever reads it. */
const pauseMs = 50;
/** Under the limit on sessions of one cluster. */
const atOnce = 120;

/** Calls for each number below, in groups. */
async function forEach(count: number, each: (index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - from) }, (_value, index) => each(from + index)),
    );
  }
}

for (const [front, protocol] of [
  ['plain HTTP', 'SPDY/3.1'],
  ['plain HTTP', 'websocket'],
  ['TLS', 'websocket'],
] as const) {
  test(`over ${front} a request for ${protocol} may be cut at every byte, and so may what comes behind it`, async (t) => {
    const { gateway, server } = await openSessions(
      t,
      {},
      {
        ...frontOptions(front),
        // What is authenticated is forwarded, so the head that the cluster sees can be compared.
        ...(front === 'TLS' && { clusterIdentity: { alpha: 'gateway' } }),
      },
    );
    const fields = front === 'TLS' ? ['Authorization: Bearer good'] : [];
    const text = `${sessionHead(gateway.url, { protocol, fields })}early bytes`;
    await forEach(text.length + 1, async (at) => {
      using client = await SessionClient.dial(gateway.url);
      client.write(text.slice(0, at));
      await sleep(pauseMs);
      client.write(text.slice(at));
      await client.until(() => client.body === 'early bytes');
      assert.equal(client.status, 101);
      client.end();
      await client.gone();
      assert.equal(client.error, undefined);
    });
    assert.equal(new Set(server.connections.map(({ head }) => head)).size, 1, 'all ask for the same');
    for (const { received } of server.connections) assert.equal(received.toString(), 'early bytes');
    await server.waitForOpen(0);
  });
}

for (const protocol of protocols) {
  test(`the 101 to ${protocol} may be cut at every byte: not one byte passes before it is complete, and none is lost behind it`, async (t) => {
    const answers = new Map<string, UpgradeConnection>();
    const { gateway, server } = await openSessions(t, {
      answer: (connection) => {
        const [, index = ''] = /command=(\d+) /.exec(connection.requestLine) ?? [];
        answers.set(index, connection);
      },
    });
    // How long it is does not depend on the connection.
    using probe = await SessionClient.open(gateway.url, { protocol, path: execPath.replace('ls', '0') });
    const text = `${(await server.head()).switchingHead()}early bytes of the cluster`;
    const headLength = text.indexOf('\r\n\r\n') + 4;
    await forEach(text.length + 1, async (at) => {
      using client = await SessionClient.open(gateway.url, {
        protocol,
        path: execPath.replace('ls', String(at + 1)),
        early: 'early bytes of the client',
      });
      await server.until(
        () => answers.has(String(at + 1)),
        () => 'the request',
      );
      const connection = answers.get(String(at + 1));
      assert.ok(connection !== undefined);
      await connection.write(text.slice(0, at));
      await sleep(pauseMs);
      if (at < headLength) {
        assert.equal(client.received, '', `after ${at} bytes`);
        assert.equal(connection.bytes, 0, `after ${at} bytes`);
      }
      await connection.write(text.slice(at));
      await client.until(() => client.body === 'early bytes of the cluster');
      await server.until(
        () => connection.received.toString() === 'early bytes of the client',
        () => `what the client sent early; there is ${connection.received.toString()}`,
      );
    });
    probe.reset();
    await server.waitForOpen(0);
  });
}

test('what a client sends early is kept to the last byte, however much it is, while the cluster takes its time', async (t) => {
  const { gateway, server } = await openSessions(t, { answer: () => undefined });
  const text = Array.from({ length: 100_000 }, (_value, index) => `${index};`).join('');
  using client = await SessionClient.open(gateway.url);
  client.write(text);
  const connection = await server.head();
  await sleep(4 * pauseMs);
  assert.equal(connection.bytes, 0);
  await connection.write(connection.switchingHead());
  await server.until(
    () => connection.bytes === text.length,
    () => `${text.length} bytes; there are ${connection.bytes}`,
  );
  assert.equal(connection.received.toString(), text);
});
