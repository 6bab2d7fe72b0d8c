/** The numbers that sessions are held to, at a scale: small in every test run, whole in the full one. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Relay, ResourceBaseline, collectGarbage } from '@roundhouse/simulators';
import type { StreamEnding } from '@roundhouse/simulators';
import { ask } from './clients.ts';
import { openKubelet } from './kubelet-rig.ts';
import type { KubeletRig, Via } from './kubelet-rig.ts';

const withinMs = 2_000;
const atOnce = 10;

/** The sum over all series of these names. */
async function metric({ gateway }: KubeletRig, name: string, having = ''): Promise<number> {
  const { body } = await ask(gateway.adminUrl, '/metrics');
  return body
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => line.includes(having))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

const gauges = [
  'roundhouse_gateway_requests_in_flight',
  'roundhouse_gateway_long_running_requests',
  'roundhouse_gateway_sessions',
] as const;

/** Ten at a time, alternating protocols: sockets and gauges are back where they were, after each end that a server may give them. */
export async function execsLeaveNothing(
  t: TestContext,
  count: number,
  ending: StreamEnding = 'complete',
): Promise<void> {
  const rig = await openKubelet(t);
  const { cluster } = rig;
  if (ending !== 'complete') {
    cluster.faults.add({ match: ({ path }) => path.includes('/exec'), fault: { kind: 'switch', ending } });
  }
  const one = async (index: number): Promise<void> => {
    const via: Via = index % 2 === 0 ? 'websocket' : 'spdy';
    await using client = await rig.exec(via, ['echo', String(index)]);
    const { stdout, code } = await client.collect();
    assert.equal(stdout.toString(), `${index}\n`);
    assert.equal(code, 0);
    await client.close();
  };
  // The first ones open what stays: the gateway's file watches, the admin listener's connection.
  await Promise.all(Array.from({ length: atOnce }, (_value, index) => one(index)));
  await metric(rig, gauges[0]);
  await cluster.wire.waitForOpen(0);
  const baseline = ResourceBaseline.take();
  const seriesBefore = await metric(rig, 'roundhouse_gateway_requests_total');
  const endedBefore = await metric(rig, 'roundhouse_gateway_sessions_ended_total');
  for (let from = 0; from < count; from += atOnce) {
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - from) }, (_value, index) => one(from + index)),
    );
  }
  await cluster.wire.waitForOpen(0, { timeoutMs: withinMs });
  await baseline.returned({ timeoutMs: withinMs });
  await rig.requestLines(atOnce + count);
  // The look itself is a request of the admin listener's, and none of these.
  for (const gauge of gauges) assert.equal(await metric(rig, gauge), 0, gauge);
  assert.equal((await metric(rig, 'roundhouse_gateway_requests_total')) - seriesBefore, count);
  assert.equal((await metric(rig, 'roundhouse_gateway_sessions_ended_total')) - endedBefore, count);
}

const blockBytes = 65_536;

/** Differs from block to block, so that nothing can be lost, doubled or exchanged unseen. */
function block(index: number): Buffer {
  const bytes = Buffer.alloc(blockBytes, index & 0xff);
  for (let at = 0; at < blockBytes; at += 4_096) bytes.writeUInt32LE(index, at);
  return bytes;
}

export interface SlowReader {
  readonly megabytes: number;
  readonly megabytesPerSecond: number;
}

/** A reader that is slower than the command: every byte and the exit code, and little kept of what waits. */
export async function slowReaderGetsAll(
  t: TestContext,
  via: Via,
  { megabytes, megabytesPerSecond }: SlowReader,
): Promise<void> {
  const blocks = (megabytes * 1_048_576) / blockBytes;
  const sent = createHash('sha256');
  const rig = await openKubelet(t, {
    programs: {
      pour: async ({ stdout }) => {
        for (let index = 0; index < blocks; index += 1) {
          const bytes = block(index);
          sent.update(bytes);
          await stdout.write(bytes);
        }
        return 7;
      },
    },
  });
  const relay = await Relay.listen({ target: { port: Number(new URL(rig.gateway.url).port) } });
  t.after(() => relay[Symbol.asyncDispose]());
  relay.throttle(megabytesPerSecond * 1_048_576, 'down');
  const target = { ...rig.target, url: `https://127.0.0.1:${relay.port}/clusters/alpha` };
  const held = async (): Promise<number> => {
    await collectGarbage();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    return arrayBuffers + heapUsed;
  };
  const before = await held();
  let most = before;
  const read = new AbortController();
  const watch = (async () => {
    while (!read.signal.aborted) {
      most = Math.max(most, await held());
      await sleep(250);
    }
  })();
  const received = createHash('sha256');
  let bytes = 0;
  await using client = await rig.execAt(target, via, ['pour']);
  for (let chunk = await client.stdout.read(); chunk !== undefined; chunk = await client.stdout.read()) {
    received.update(chunk);
    bytes += chunk.length;
  }
  const { code } = await client.exit;
  read.abort();
  await watch;
  assert.equal(bytes, blocks * blockBytes);
  assert.equal(received.digest('hex'), sent.digest('hex'));
  assert.equal(code, 7);
  const rise = (most - before) / 1_048_576;
  assert.ok(rise < 32, `${rise.toFixed(1)} MiB more were held`);
  await client.close();
  await rig.cluster.wire.waitForOpen(0);
}
