/** What ends sessions beside their two sides: their cluster is removed or rotated, or the gateway itself ends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpgradeServer } from '@roundhouse/simulators';
import { ask } from './support/clients.ts';
import {
  authority,
  base64,
  contextFor,
  kubeconfigText,
  openRig,
  upstreamTls,
} from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';
import { SessionClient } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const protocols = ['SPDY/3.1', 'websocket'] as const;

/** One of each protocol. */
async function openBoth({ gateway }: Rig): Promise<readonly SessionClient[]> {
  return Promise.all(
    protocols.map(async (protocol) => (await SessionClient.open(gateway.url, { protocol })).answered()),
  );
}

async function assertAlive(clients: readonly SessionClient[], word: string): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      client.socket.write(word);
      await client.until(() => client.body.endsWith(word));
    }),
  );
}

async function endReasons({ gateway }: Rig): Promise<Record<string, number>> {
  const { body } = await ask(gateway.adminUrl, '/metrics');
  const lines = body.matchAll(/^roundhouse_gateway_sessions_ended_total\{.*reason="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries(Array.from(lines, ([, reason, count]) => [reason, Number(count)]));
}

test('W11: a cluster that is removed from its kubeconfig ends its sessions within 2 s, and no others', async (t) => {
  const beta = await UpgradeServer.listen({ tls: upstreamTls });
  t.after(() => beta[Symbol.asyncDispose]());
  const alpha = await UpgradeServer.listen({ tls: upstreamTls });
  t.after(() => alpha[Symbol.asyncDispose]());
  const rig = await openRig(t, {
    contexts: () => ({ alpha: contextFor(alpha), beta: contextFor(beta) }),
  });
  const going = await openBoth(rig);
  using staying = await SessionClient.open(rig.gateway.url, {
    path: '/clusters/beta/api/v1/namespaces/web/pods/p/exec',
  });
  await staying.answered();
  const startedAt = performance.now();
  await rig.replaceKubeconfig(kubeconfigText({ beta: contextFor(beta) }));
  await Promise.all([...going.map((client) => client.closes()), alpha.waitForOpen(0)]);
  assert.ok(performance.now() - startedAt < 2_000, String(performance.now() - startedAt));
  assert.deepEqual(
    going.map(({ ended }) => ended),
    [false, false],
    'nobody takes it for a good end',
  );
  const lines = await rig.requestLines(2);
  assert.deepEqual(
    lines.map((line) => [line['code'], line['error'], line['reason']]),
    Array.from({ length: 2 }, () => [
      101,
      'ERR_RH_IDENTITY_CLOSED',
      'ERR_RH_IDENTITY_CLOSED: alpha was removed',
    ]),
  );
  assert.deepEqual(await endReasons(rig), { removed: 2 });
  await assertAlive([staying], 'still here');
});

test('a rotated credential gives sessions their drain time and then ends them; new ones are of the new one', async (t) => {
  const drainTimeoutMs = 600;
  const alpha = await UpgradeServer.listen({ tls: upstreamTls });
  t.after(() => alpha[Symbol.asyncDispose]());
  const reachedAs = async (commonName: string) => {
    const { certPem, keyPem } = await authority.issue({ commonName, usage: 'client' });
    return {
      alpha: contextFor(alpha, {
        'client-certificate-data': base64(certPem),
        'client-key-data': base64(keyPem),
      }),
    };
  };
  const contexts = await reachedAs('first');
  const rig = await openRig(t, {
    contexts: () => contexts,
    limits: { sessionDrainTimeoutMs: drainTimeoutMs },
  });
  const draining = await openBoth(rig);
  const startedAt = performance.now();
  await rig.replaceKubeconfig(kubeconfigText(await reachedAs('second')));
  await rig.waitForLog(() => rig.gateway.clusters[0]?.generation === 2);
  using fresh = await SessionClient.open(rig.gateway.url);
  await fresh.answered();
  assert.deepEqual(
    alpha.connections.map(({ clientCommonName }) => clientCommonName),
    ['first', 'first', 'second'],
  );
  await assertAlive(draining, 'drain');
  await Promise.all([...draining.map((client) => client.closes()), alpha.waitForOpen(1)]);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs >= drainTimeoutMs && tookMs < drainTimeoutMs + 2_000, String(tookMs));
  await rig.requestLines(2);
  assert.deepEqual(await endReasons(rig), { drained: 2 });
  await assertAlive([fresh], 'new');
});

test('at the end of the process sessions have its drain time, are ended then, and nothing is left', async (t) => {
  const drainTimeoutMs = 600;
  const rig = await openSessions(t, {}, { limits: { drainTimeoutMs } });
  const clients = await openBoth(rig);
  const startedAt = performance.now();
  const closing = rig.gateway.close();
  await rig.waitForLog(({ msg }) => msg === 'draining');
  await assertAlive(clients, 'drain');
  await Promise.all([closing, ...clients.map((client) => client.closes()), rig.server.waitForOpen(0)]);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs >= drainTimeoutMs && tookMs < drainTimeoutMs + 2_000, String(tookMs));
  assert.deepEqual(
    clients.map(({ ended }) => ended),
    [false, false],
  );
  const lines = await rig.requestLines(2);
  assert.deepEqual(
    lines.map((line) => [line['code'], line['error']]),
    [
      [101, 'ERR_RH_SHUTTING_DOWN'],
      [101, 'ERR_RH_SHUTTING_DOWN'],
    ],
  );
  assert.equal(rig.log.at(-1)?.['msg'], 'closed');
  assert.equal(rig.log.at(-1)?.['hung'], undefined);
});

test('a session that ends by itself does not hold the end of the process up', async (t) => {
  const rig = await openSessions(t, {}, { limits: { drainTimeoutMs: 60_000 } });
  const clients = await openBoth(rig);
  const closing = rig.gateway.close();
  await rig.waitForLog(({ msg }) => msg === 'draining');
  for (const client of clients) client.socket.end();
  await Promise.all([closing, ...clients.map((client) => client.gone())]);
  const lines = await rig.requestLines(2);
  assert.deepEqual(
    lines.map((line) => line['error']),
    [undefined, undefined],
  );
});
