/** BB-20: a cluster that refuses the gateway's own credential is no matter of the caller's, and often one of a moment. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Exchange } from '@roundhouse/simulators';
import { ask, statusIn } from './support/clients.ts';
import { contextFor, openRig, replaced, written } from './support/gateway-rig.ts';
import type { Rig, RigOptions } from './support/gateway-rig.ts';

const path = '/clusters/alpha/api/v1/namespaces/a/configmaps/c';
const watchPath = '/clusters/alpha/api/v1/pods?watch=1';
const both = ['h2', 'http/1.1'] as const;

/** A cluster that takes what is in `valid`, read from a file that looks are seldom at by themselves. */
async function openWithTokenFile(
  t: TestContext,
  valid: ReadonlySet<string>,
  options: RigOptions = {},
): Promise<Rig> {
  const rig = await openRig(t, {
    reloadIntervalMs: 600_000,
    contexts: (server) => ({ alpha: contextFor(server, { tokenFile: 'token' }) }),
    upstream: { protocols: both },
    handle: async (exchange) => {
      await exchange.readBody();
      const [authorization = ''] = exchange.request.headerValues('authorization');
      await exchange.respond({ status: valid.has(authorization) ? 200 : 401, body: 'ok' });
    },
    ...options,
  });
  await written(rig.folder, 'token', 't0');
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  return rig;
}

const tokensAt = ({ upstream }: Rig): string[] =>
  upstream.requests.flatMap((request) => request.headerValues('authorization'));

for (const [what, target] of [
  ['a GET', path],
  ['a watch', watchPath],
] as const) {
  test(`BB-20: a 401 to a token that is not over yet: ${what} is asked for once more, and its caller notices nothing`, async (t) => {
    let refusals = 1;
    const rig = await openRig(t, {
      upstream: { protocols: both },
      handle: (exchange: Exchange) => {
        refusals -= 1;
        return exchange.respond({ status: refusals < 0 ? 200 : 401, body: 'ok' });
      },
    });
    const { status, body } = await ask(rig.gateway.url, target);
    assert.deepEqual([status, body], [200, 'ok']);
    assert.equal(rig.upstream.received, 2);
    assert.equal(rig.gateway.clusters[0]?.state, 'ready');
  });
}

test('BB-20: the second time it is asked with what the token file says by then, and not after the next look at it', async (t) => {
  const valid = new Set(['Bearer t0']);
  const rig = await openWithTokenFile(t, valid);
  assert.equal((await ask(rig.gateway.url, path)).status, 200);
  valid.delete('Bearer t0');
  valid.add('Bearer t1');
  await replaced(join(rig.folder, 'token'), 't1');
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(rig.gateway.url, path)));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  assert.deepEqual([...new Set(tokensAt(rig))], ['Bearer t0', 'Bearer t1']);
});

test('BB-20: what changes something is not sent twice; its caller is told whose credential it was, and that it was not theirs', async (t) => {
  const rig = await openWithTokenFile(t, new Set());
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const before = rig.upstream.received;
    const { status, body } = await ask(rig.gateway.url, path, { method, body: '{}' });
    assert.equal(status, 502, method);
    assert.equal(statusIn(body).error, 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED');
    assert.equal(rig.upstream.received, before + 1, method);
  }
});

test('BB-20: a credential that stays refused is asked with twice, then once a request for a while, until it changes', async (t) => {
  const valid = new Set<string>();
  const rig = await openWithTokenFile(t, valid);
  const asked = async (): Promise<{ status: number; times: number }> => {
    const before = rig.upstream.received;
    const { status } = await ask(rig.gateway.url, path);
    return { status, times: rig.upstream.received - before };
  };
  assert.deepEqual(await asked(), { status: 502, times: 2 });
  assert.deepEqual(await asked(), { status: 502, times: 1 });
  valid.add('Bearer t2');
  const reads = rig.log.filter(({ msg }) => msg === 'kubeconfig read').length;
  await replaced(join(rig.folder, 'token'), 't1');
  while (rig.log.filter(({ msg }) => msg === 'kubeconfig read').length === reads) await rig.nextLine();
  // It is another one now, so it is worth a second try; and by then it is the right one.
  await replaced(join(rig.folder, 'token'), 't2');
  assert.deepEqual(await asked(), { status: 200, times: 2 });
});

test("BB-20: a caller's own token that is refused is the caller's 401, and is not asked with again", async (t) => {
  const rig = await openWithTokenFile(t, new Set(), { identity: 'passthrough' });
  const { status } = await ask(rig.gateway.url, path, { fields: ['Authorization', 'Bearer mine'] });
  assert.deepEqual([status, tokensAt(rig)], [401, ['Bearer mine']]);
});
