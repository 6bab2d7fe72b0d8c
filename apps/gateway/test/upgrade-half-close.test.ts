/** The end of one direction is passed on as that: the other one goes on until it ends itself, and nothing of it is lost. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { ResourceBaseline } from '@roundhouse/simulators';
import type { UpgradeConnection } from '@roundhouse/simulators';
import { FrontClients, frontOptions, fronts } from './support/fronts.ts';
import { openKubelet, vias } from './support/kubelet-rig.ts';
import { execPath } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const piece = 'a line of output\n'.repeat(200);
const pieces = 30;

/** Says nothing until its client has ended, and then goes on for a while. */
function talksAfterTheEnd(connection: UpgradeConnection): void {
  const { socket } = connection;
  void connection.write(connection.switchingHead());
  socket.once('end', () => {
    let left = pieces;
    const timer = setInterval(() => {
      socket.write(piece);
      left -= 1;
      if (left === 0) {
        clearInterval(timer);
        socket.end();
      }
    }, 20);
  });
}

for (const front of fronts) {
  test(`BB-39: over ${front} 50 clients end their side and read on: they get every byte, and no socket stays behind`, async (t) => {
    const { gateway, server } = await openSessions(
      t,
      { allowHalfOpen: true, answer: talksAfterTheEnd },
      frontOptions(front),
    );
    const baseline = ResourceBaseline.take();
    {
      await using clients = new FrontClients(gateway.url, front);
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const client = await clients.open({ path: execPath });
          await client.answered();
          client.write('the input');
          client.end();
          await client.closes();
          assert.equal(client.ended, true);
          assert.equal(client.error, undefined);
          assert.equal(client.body, piece.repeat(pieces));
        }),
      );
      await server.waitForOpen(0, { timeoutMs: 2_000 });
    }
    for (const connection of server.connections) {
      assert.equal(connection.received.toString('latin1'), 'the input');
      assert.equal(connection.ended, true);
    }
    await baseline.returned({ timeoutMs: 2_000 });
  });

  test(`BB-39: over ${front} a cluster ends its side and reads on: it gets every byte`, async (t) => {
    const { gateway, server } = await openSessions(
      t,
      {
        allowHalfOpen: true,
        answer: (connection) => {
          void connection.write(`${connection.switchingHead()}all that it says`);
          connection.socket.end();
        },
      },
      frontOptions(front),
    );
    await using clients = new FrontClients(gateway.url, front);
    const client = await clients.open({ path: execPath });
    await client.until(() => client.ended);
    assert.equal(client.body, 'all that it says');
    for (let count = 0; count < pieces; count += 1) client.write(piece);
    client.end();
    const connection = await server.head();
    await server.waitForOpen(0);
    assert.equal(connection.received.toString('latin1'), piece.repeat(pieces));
    assert.equal(connection.error, undefined);
    await client.closes();
    assert.equal(client.error, undefined);
  });
}

for (const via of vias) {
  test(`BB-44: ${via}: the end of stdin is no end of the session: digest and late exit code arrive`, async (t) => {
    const { exec } = await openKubelet(t);
    for (const input of [Buffer.alloc(0), Buffer.from('x'), Buffer.alloc(10_000_000, 'abc')]) {
      await using client = await exec(via, ['sha256sum'], { stdin: true });
      const collected = client.collect();
      await client.stdin?.write(input);
      await client.stdin?.end();
      const { stdout, code } = await collected;
      assert.equal(stdout.toString(), `${sha256(input)}  -\n`);
      assert.equal(code, 0);
      // The cluster ends it once it has said how the command ended.
      await client.close({ timeoutMs: 1_000 });
      assert.equal(client.connection.error, undefined);
    }
    await Promise.all(
      [0, 1, 137].map(async (code) => {
        await using late = await exec(via, ['linger', '0.5', String(code)], { stdin: true });
        const collected = late.collect();
        await late.stdin?.write(Buffer.from('x'));
        await late.stdin?.end();
        assert.equal((await collected).code, code);
      }),
    );
  });
}
