/** Port-forwarding: many connections in one session, of which any may break without harm to the others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResourceBaseline, collectGarbage } from '@roundhouse/simulators';
import type { PortForwardClient } from '@roundhouse/simulators';
import { openKubelet, vias } from './support/kubelet-rig.ts';

const echoPort = 7;
const resetsEveryThird = 9000;

/** One connection, from its beginning to its end in good order. */
async function roundTrip(session: PortForwardClient, text: string): Promise<void> {
  const connection = await session.connect(echoPort);
  await connection.write(Buffer.from(text));
  await connection.end();
  let back = '';
  for (let bytes = await connection.read(); bytes !== undefined; bytes = await connection.read()) {
    back += bytes.toString();
  }
  assert.equal(back, text);
  assert.equal(await connection.failure, '');
}

for (const via of vias) {
  test(`BB-46: ${via}: after 1,000 short connections and 100 of which half are broken off, one more works at once, and nothing was kept`, async (t) => {
    const { cluster, forward } = await openKubelet(t);
    const baseline = ResourceBaseline.take();
    const session = await forward(via);
    const rounds = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 20) {
        await Promise.all(
          Array.from({ length: 20 }, (_value, index) => roundTrip(session, `connection ${done + index}`)),
        );
      }
    };
    await rounds(200);
    await collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    await rounds(800);
    await collectGarbage();
    const after = process.memoryUsage();
    const rise = (after.heapUsed + after.arrayBuffers - heapUsed - arrayBuffers) / 800;
    assert.ok(rise < 2_048, `${Math.round(rise)} bytes were kept of each connection`);
    await Promise.all(
      Array.from({ length: 100 }, async (_value, index) => {
        if (index % 2 === 0) {
          await roundTrip(session, 'x'.repeat(20_000));
          return;
        }
        const connection = await session.connect(echoPort);
        await connection.write(Buffer.alloc(20_000, 'y'));
        await connection.read();
        await connection.reset();
      }),
    );
    const startedAt = performance.now();
    await roundTrip(session, 'one more');
    assert.ok(performance.now() - startedAt < 1_000);
    await session.ping();
    assert.equal(session.streams, 0);
    await session.close();
    await cluster.wire.waitForOpen(0);
    await baseline.returned({ timeoutMs: 2_000 });
  });

  test(`BB-47: ${via}: a backend that resets one connection, and a client that resets another, end neither the session nor the rest`, async (t) => {
    const { forward } = await openKubelet(t);
    await using session = await forward(via);
    const connections = [];
    // One after the other: the backend counts them.
    for (let count = 0; count < 10; count += 1) connections.push(await session.connect(resetsEveryThird));
    const [, , , , , , seventh] = connections;
    await Promise.all(connections.map((connection) => connection.write(Buffer.from('first'))));
    await seventh?.reset();
    const survivors = await Promise.all(
      connections.map(async (connection, index) => {
        if (index === 6) return false;
        const bytes = await connection.read().catch(() => undefined);
        if (bytes === undefined) return false;
        assert.equal(bytes.toString(), 'first');
        return true;
      }),
    );
    // Of ten the third, the sixth and the ninth are reset by the backend, the seventh by us.
    assert.deepEqual(
      survivors.flatMap((lives, index) => (lives ? [] : [index + 1])),
      [3, 6, 7, 9],
    );
    await Promise.all(
      connections.map(async (connection, index) => {
        if (survivors[index] !== true) return;
        await connection.write(Buffer.from('second'));
        assert.equal((await connection.read())?.toString(), 'second');
      }),
    );
    await roundTrip(session, 'and a new one');
  });
}
