/** A session lasts no longer than what it was allowed by: when its caller or the rule is taken away, it ends. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { CertificateAuthority } from '@roundhouse/simulators';
import type { UpgradeServer } from '@roundhouse/simulators';
import { callersAuthority, replaced } from './support/gateway-rig.ts';
import type { Rig, RigOptions } from './support/gateway-rig.ts';
import { SessionClient } from './support/session-client.ts';
import type { SessionRequest } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const tokens = ['t-ann,ann,,dev', 't-bob,bob,,dev', 't-cat,cat,,"dev,ops"'];
const bearer = (token: string): SessionRequest => ({ fields: [`Authorization: Bearer ${token}`] });

type RevocationRig = Rig & { readonly server: UpgradeServer };

const open = (t: TestContext, options: RigOptions): Promise<RevocationRig> =>
  openSessions(t, {}, { tls: true, reloadIntervalMs: 200, ...options });

async function session(rig: RevocationRig, request: SessionRequest): Promise<SessionClient> {
  const client = await SessionClient.open(rig.gateway.url, request);
  await client.answered();
  assert.equal(client.status, 101);
  return client;
}

async function assertGone(rig: RevocationRig, client: SessionClient): Promise<void> {
  const startedAt = performance.now();
  await client.closes();
  assert.ok(performance.now() - startedAt < 5_000);
  assert.equal(client.ended, false, 'it was broken off');
  const line = await rig.waitForLog(({ msg }) => msg === 'request');
  assert.equal(line['error'], 'ERR_RH_SESSION_REVOKED');
  assert.equal(line['code'], 101);
}

async function assertAlive(client: SessionClient): Promise<void> {
  const { length } = client.body;
  client.write('alive');
  await client.until(() => client.body.slice(length) === 'alive');
}

test('BB-48: a token that is taken out of its file ends its sessions, and no others', async (t) => {
  const rig = await open(t, { tokens });
  using ann = await session(rig, bearer('t-ann'));
  using bob = await session(rig, { ...bearer('t-bob'), protocol: 'websocket' });
  await replaced(join(rig.folder, 'tokens.csv'), tokens.filter((line) => !line.includes('ann')).join('\n'));
  await assertGone(rig, ann);
  await assertAlive(bob);
  await rig.server.waitForOpen(1);
});

test('BB-48: whoever has other groups now is somebody else to the cluster', async (t) => {
  const rig = await open(t, { tokens });
  using cat = await session(rig, bearer('t-cat'));
  using bob = await session(rig, bearer('t-bob'));
  await replaced(join(rig.folder, 'tokens.csv'), tokens.join('\n').replace('"dev,ops"', 'dev'));
  await assertGone(rig, cat);
  await assertAlive(bob);
});

test('BB-48: a rule that is taken away ends the sessions that it allowed', async (t) => {
  const rules = (users: string): string =>
    JSON.stringify({
      version: 1,
      rules: [
        {
          name: 'exec',
          users: users.split(' '),
          clusters: ['*'],
          verbs: ['create'],
          apiGroups: [''],
          resources: ['pods/exec'],
          namespaces: ['*'],
        },
      ],
    });
  const rig = await open(t, { tokens, authorization: rules('ann bob') });
  using ann = await session(rig, bearer('t-ann'));
  using bob = await session(rig, bearer('t-bob'));
  await replaced(join(rig.folder, 'rules.yaml'), rules('bob'));
  await assertGone(rig, ann);
  await assertAlive(bob);
});

test('BB-48: a client CA that is replaced ends the sessions of its certificates', async (t) => {
  const rig = await open(t, { tokens });
  const certificate = await callersAuthority.issue({ commonName: 'ann', usage: 'client' });
  using ann = await session(rig, { credentials: { cert: certificate.certPem, key: certificate.keyPem } });
  using bob = await session(rig, bearer('t-bob'));
  const other = await CertificateAuthority.create({ name: 'others' });
  await replaced(join(rig.folder, 'callers.pem'), other.certificatePem);
  await assertGone(rig, ann);
  await assertAlive(bob);
});
