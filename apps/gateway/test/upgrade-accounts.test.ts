/** Each request for an upgrade has one end, whatever it is, and nothing of it is kept. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResourceBaseline, collectGarbage } from '@roundhouse/simulators';
import { ask } from './support/clients.ts';
import { contextFor } from './support/gateway-rig.ts';
import { SessionClient, execPath } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const atOnce = 25;

async function inGroups(count: number, each: (index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_value, index) => each(from + index)));
  }
}

test('BB-51: upgrades that are refused, and ones that live for a moment, are counted once and leave nothing', async (t) => {
  const warnings: string[] = [];
  const warned = (warning: Error): void => void warnings.push(warning.message);
  process.on('warning', warned);
  t.after(() => process.off('warning', warned));
  const { gateway, server, requestLines, log } = await openSessions(t, {}, { tokens: ['good,joe,,'] });
  const refused = async (): Promise<void> => {
    using client = await SessionClient.open(gateway.url, { fields: ['Authorization: Bearer unknown'] });
    await client.gone();
    assert.equal(client.status, 401);
  };
  const lives = async (index: number): Promise<void> => {
    using client = await SessionClient.open(gateway.url, {
      protocol: index % 2 === 0 ? 'websocket' : 'SPDY/3.1',
      fields: ['Authorization: Bearer good'],
    });
    client.write('hi');
    await client.until(() => client.body === 'hi');
    client.end();
    await client.gone();
  };
  const held = async (): Promise<number> => {
    // What the test itself keeps of each.
    log.length = 0;
    server.connections.length = 0;
    await collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const baseline = ResourceBaseline.take();
  const round = async (): Promise<number> => {
    await inGroups(400, refused);
    await inGroups(100, lives);
    await requestLines(500);
    return held();
  };
  const first = await round();
  await round();
  await round();
  const last = await round();
  const perUpgrade = (last - first) / 1_500;
  assert.ok(perUpgrade < 512, `${Math.round(perUpgrade)} bytes are kept of each`);
  await server.waitForOpen(0);
  await baseline.returned({ timeoutMs: 2_000 });
  assert.deepEqual(warnings, []);
  const { body } = await ask(gateway.adminUrl, '/metrics');
  const count = (name: string): number =>
    Array.from(body.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm')), ([, value]) =>
      Number(value),
    ).reduce((sum, value) => sum + value, 0);
  assert.equal(count('roundhouse_gateway_requests_total'), 2_000);
  assert.equal(count('roundhouse_gateway_sessions_ended_total'), 400);
  assert.equal(count('roundhouse_gateway_requests_in_flight'), 0);
  assert.equal(count('roundhouse_gateway_long_running_requests'), 0);
});

test('BB-52: a cluster that is to be reached by a proxy is not dialed past it, and no upgrade falls back to that', async (t) => {
  const { gateway, upstream } = await openSessions(
    t,
    {},
    {
      contexts: (direct) => {
        const { cluster, user } = contextFor(direct);
        return {
          alpha: { cluster: { ...cluster, 'proxy-url': 'http://127.0.0.1:9' }, ...(user && { user }) },
        };
      },
    },
  );
  for (const protocol of ['SPDY/3.1', 'websocket'] as const) {
    for (const path of [execPath, execPath.replace('exec', 'portforward')]) {
      using client = await SessionClient.open(gateway.url, { protocol, path });
      await client.gone();
      assert.ok(client.status >= 500, `it was answered ${client.status}`);
    }
  }
  assert.equal(upstream.accepted, 0);
});
