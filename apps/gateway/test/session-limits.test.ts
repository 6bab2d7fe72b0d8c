/** Sessions have limits, for a cluster and in all: one too many is told to come back, and nobody else feels it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { UpgradeServer } from '@roundhouse/simulators';
import { ask, statusIn } from './support/clients.ts';
import { contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import type { RigOptions } from './support/gateway-rig.ts';
import { SessionClient } from './support/session-client.ts';

const execIn = (cluster: string) => `/clusters/${cluster}/api/v1/namespaces/web/pods/p/exec?command=ls`;

async function openClusters(t: TestContext, limits: RigOptions['limits']) {
  const [alpha, beta] = await Promise.all([
    UpgradeServer.listen({ tls: upstreamTls }),
    UpgradeServer.listen({ tls: upstreamTls }),
  ]);
  t.after(() => Promise.all([alpha[Symbol.asyncDispose](), beta[Symbol.asyncDispose]()]));
  const rig = await openRig(t, {
    limits,
    // The third one serves everything but sessions.
    contexts: (plain) => ({ alpha: contextFor(alpha), beta: contextFor(beta), plain: contextFor(plain) }),
  });
  const stack = new DisposableStack();
  t.after(() => stack.dispose());
  const open = async (cluster: string): Promise<SessionClient> =>
    stack.use(await SessionClient.open(rig.gateway.url, { path: execIn(cluster) })).answered();
  return { ...rig, alpha, beta, open };
}

async function assertTurnedAway(client: SessionClient, words: RegExp): Promise<void> {
  await client.gone();
  assert.equal(client.status, 503);
  assert.deepEqual(client.values('retry-after'), ['1']);
  const { code, error, message } = statusIn(client.body);
  assert.deepEqual([code, error], [503, 'ERR_RH_UPGRADE_LIMIT']);
  assert.match(message, words);
}

test('one session more than a cluster may have is a 503 with Retry-After, until one ends; others are not touched', async (t) => {
  const { gateway, alpha, open, requestLines } = await openClusters(t, { maxSessionsPerCluster: 2 });
  const [first] = await Promise.all([open('alpha'), open('alpha')]);
  await assertTurnedAway(await open('alpha'), /^ERR_RH_UPGRADE_LIMIT: 2 upgraded connections to https:/);
  assert.equal(alpha.accepted, 2, 'the cluster is not even dialed');
  assert.equal((await open('beta')).status, 101);
  const transports = JSON.parse((await ask(gateway.adminUrl, '/debug/transports')).body);
  assert.deepEqual(
    transports.transports.map((each: { identities: string[]; upgrades: number }) => [
      each.identities.join(),
      each.upgrades,
    ]),
    [
      ['alpha', 2],
      ['beta', 1],
    ],
  );
  assert.equal(transports.totals.upgrades, 3);
  first.socket.end();
  await first.gone();
  await requestLines(2);
  assert.equal((await open('alpha')).status, 101);
});

test('one session more than there may be in all is a 503, whatever its cluster; other requests are served', async (t) => {
  const { gateway, beta, open, requestLines } = await openClusters(t, { maxSessions: 2 });
  const [first] = await Promise.all([open('alpha'), open('alpha')]);
  await assertTurnedAway(await open('beta'), /^ERR_RH_UPGRADE_LIMIT: 2 upgraded connections of the pool/);
  assert.equal(beta.accepted, 0);
  assert.equal((await ask(gateway.url, '/clusters/plain/version')).status, 200);
  first.socket.resetAndDestroy();
  await requestLines(3);
  assert.equal((await open('beta')).status, 101);
});
