import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { KubernetesError } from '@roundhouse/kubernetes';
import { createLogger, ProcessError } from '@roundhouse/process';
import { Gateway } from '../src/index.ts';
import { ask, open, statusIn } from './support/clients.ts';
import {
  authority,
  base64,
  contextFor,
  kubeconfigText,
  listenUpstream,
  openRig,
  replaced,
  written,
} from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';

const path = '/clusters/alpha/version';
const watchPath = '/clusters/alpha/api/v1/pods?watch=1';
const json = { 'content-type': 'application/json' };

/** A watch that has begun. */
async function watch(url: string, target = watchPath) {
  const response = await open(url, target);
  assert.equal(response.statusCode, 200);
  return response;
}

const startWatches = async (
  exchange: Parameters<NonNullable<Parameters<typeof openRig>[1]>['handle'] & {}>[0],
) => {
  if (!exchange.request.path.includes('watch')) return exchange.respond({ body: 'ok' });
  await exchange.writeHead(200, json);
};

function stateOf({ gateway }: Rig): string | undefined {
  return gateway.clusters[0]?.state;
}

async function sources(adminUrl: string): Promise<{ state: string; lastError: { code: string } | null }[]> {
  return JSON.parse((await ask(adminUrl, '/debug/clusters')).body).sources;
}

test('a kubeconfig that turns bad changes nothing but the status, and coming back is no change at all', async (t) => {
  const rig = await openRig(t, { handle: startWatches });
  const good = kubeconfigText({ alpha: contextFor(rig.upstream) });
  const watching = await watch(rig.gateway.url);
  for (const bad of ['', '{"clusters": [', 'clusters: [{name: 5}]', '\0\0\0']) {
    const seen = rig.log.length;
    await rig.replaceKubeconfig(bad);
    await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['level'] === 'error');
    assert.equal((await ask(rig.gateway.url, path)).status, 200);
    const [source] = await sources(rig.gateway.adminUrl);
    assert.equal(source?.state, 'stale');
    assert.equal(source?.lastError?.code, 'ERR_RH_KUBECONFIG_INVALID');
  }
  const seen = rig.log.length;
  await rm(rig.kubeconfig);
  await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['level'] === 'error');
  assert.equal((await ask(rig.gateway.url, path)).status, 200);
  assert.equal((await sources(rig.gateway.adminUrl))[0]?.lastError?.code, 'ERR_RH_FILE_UNUSABLE');

  await rig.replaceKubeconfig(good);
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  assert.equal((await sources(rig.gateway.adminUrl))[0]?.state, 'good');
  assert.equal(rig.gateway.clusters[0]?.generation, 1);
  assert.equal(watching.readable, true, 'the watch was never touched');
  watching.destroy();
});

test('BB-04: equal content, delivered again in other words, rebuilds nothing', async (t) => {
  const rig = await openRig(t, { handle: startWatches });
  const watching = await watch(rig.gateway.url);
  const { cluster, user } = contextFor(rig.upstream);
  for (let round = 0; round < 3; round += 1) {
    const fields = Object.entries({ ...cluster, extensions: round });
    const turned = Object.fromEntries(round % 2 === 0 ? fields : fields.toReversed());
    const ca = Buffer.from(String(cluster['certificate-authority-data']), 'base64').toString();
    const padded = Buffer.from(`# ${round}\n${ca.replaceAll('\n', '\r\n')}\n\n`).toString('base64');
    const seen = rig.log.length;
    await rig.replaceKubeconfig(
      kubeconfigText({
        alpha: { cluster: { ...turned, 'certificate-authority-data': padded }, user: user! },
      }),
    );
    await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['msg'] === 'kubeconfig read');
    await ask(rig.gateway.url, path);
  }
  assert.equal(rig.gateway.clusters[0]?.generation, 1);
  assert.equal(rig.gateway.inspect().totals.built, 1);
  assert.ok(rig.upstream.accepted <= 2);
  assert.equal(watching.readable, true);
  watching.destroy();
});

test('BB-08, W11: a removed cluster is dialled no more, and its streams end with a clear error within 2 s', async (t) => {
  const rig = await openRig(t, {
    handle: startWatches,
    contexts: (server) => ({ alpha: contextFor(server), beta: contextFor(server) }),
  });
  const watching = await watch(rig.gateway.url);
  const logs = await watch(
    rig.gateway.url,
    '/clusters/alpha/api/v1/namespaces/web/pods/p/log?follow=1&watch=1',
  );
  const other = await watch(rig.gateway.url, watchPath.replace('alpha', 'beta'));
  const started = performance.now();
  await rig.replaceKubeconfig(kubeconfigText({ beta: contextFor(rig.upstream) }));
  let text = '';
  watching.on('data', (chunk: Buffer) => (text += chunk.toString()));
  logs.resume();
  await Promise.all([watching, logs].map((body) => new Promise((resolve) => body.once('close', resolve))));
  assert.ok(performance.now() - started < 2_000);
  const event = JSON.parse(text);
  assert.equal(event.type, 'ERROR');
  assert.equal(event.object.details.causes[0].reason, 'ERR_RH_IDENTITY_CLOSED');
  assert.equal(logs.complete, false, 'a log has no way to say it but to break off');
  assert.equal((await ask(rig.gateway.url, path)).status, 404);
  assert.equal(other.readable, true, 'the other cluster goes on');
  assert.deepEqual(
    rig.gateway.clusters.map(({ name }) => name),
    ['beta'],
  );
  other.destroy();
});

test('BB-08: clusters that come and go while they are down leave nothing behind', async (t) => {
  const rig = await openRig(t, { handle: startWatches });
  const gone = await listenUpstream();
  const dead = contextFor(gone);
  await gone[Symbol.asyncDispose]();
  const names = Array.from({ length: 10 }, (_, index) => `c${index}`);
  const alpha = { alpha: contextFor(rig.upstream) };
  for (let round = 0; round < 3; round += 1) {
    const all = { ...alpha, ...Object.fromEntries(names.map((name) => [name, dead])) };
    for (const contexts of [all, alpha]) {
      const seen = rig.log.length;
      await rig.replaceKubeconfig(kubeconfigText(contexts));
      await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['msg'] === 'kubeconfig read');
      if (contexts === all) {
        const answers = await Promise.all(
          names.map((name) => ask(rig.gateway.url, watchPath.replace('alpha', name))),
        );
        assert.ok(answers.every(({ status }) => status === 502));
      }
    }
  }
  const { totals, transports } = rig.gateway.inspect();
  assert.equal(totals.identities, 1);
  assert.equal(totals.draining, 0);
  assert.equal(
    transports.reduce((sum, { waiting }) => sum + waiting, 0),
    0,
  );
});

test('W11: a cluster that moves is asked at its new place, and what runs at the old one, which is another server now, ends within 2 s', async (t) => {
  await using second = await listenUpstream({ handle: (exchange) => exchange.respond({ body: 'second' }) });
  const rig = await openRig(t, {
    handle: startWatches,
    contexts: (server) => ({ alpha: contextFor(server), beta: contextFor(server) }),
  });
  const watching = await watch(rig.gateway.url);
  const other = await watch(rig.gateway.url, watchPath.replace('alpha', 'beta'));
  const started = performance.now();
  await rig.replaceKubeconfig(kubeconfigText({ alpha: contextFor(second), beta: contextFor(rig.upstream) }));
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  assert.equal((await ask(rig.gateway.url, path)).body, 'second');
  assert.equal(rig.gateway.clusters[0]?.generation, 2);
  const events = (await textOf(watching)).trimEnd().split('\n');
  assert.ok(performance.now() - started < 2_000);
  const { type, object } = JSON.parse(events.at(-1)!);
  assert.deepEqual([type, object.details.causes[0].reason], ['ERROR', 'ERR_RH_IDENTITY_CLOSED']);
  assert.equal(other.readable, true, 'the other cluster goes on');
  other.destroy();
  await rig.upstream.waitForOpen(0);
});

test('G5: a new token is used at once, over the connections that there are', async (t) => {
  const rig = await openRig(t);
  await ask(rig.gateway.url, path);
  await rig.replaceKubeconfig(kubeconfigText({ alpha: contextFor(rig.upstream, { token: 'newer' }) }));
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  await ask(rig.gateway.url, path);
  assert.deepEqual(rig.upstream.requests[1]?.headerValues('authorization'), ['Bearer newer']);
  assert.equal(rig.upstream.accepted, 1);
});

test('files that a kubeconfig refers to are followed with it, and a broken one leaves the last good in use', async (t) => {
  const rig = await openRig(t, {
    contexts: (server) => ({ alpha: contextFor(server, { tokenFile: 'token' }) }),
  });
  // At the start the file is missing: that context alone is refused.
  const refused = await ask(rig.gateway.url, path);
  assert.equal(refused.status, 503);
  assert.equal(statusIn(refused.body).error, 'ERR_RH_CLUSTER_REFUSED');
  assert.equal(refused.headers['retry-after'], undefined);
  assert.equal(stateOf(rig), 'refused');
  assert.equal(rig.gateway.clusters[0]?.lastError?.code, 'ERR_RH_CONTEXT_UNUSABLE');

  await written(rig.folder, 'token', 'from-file\n');
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  await ask(rig.gateway.url, path);
  assert.deepEqual(rig.upstream.requests[0]?.headerValues('authorization'), ['Bearer from-file']);

  await rm(`${rig.folder}/token`);
  while (rig.log.filter(({ msg }) => msg === 'kubeconfig read').length < 2) await rig.nextLine();
  assert.equal(stateOf(rig), 'stale');
  await ask(rig.gateway.url, path);
  assert.deepEqual(rig.upstream.requests[1]?.headerValues('authorization'), ['Bearer from-file']);
});

test('BB-20: a token that is replaced in its file before it ends costs no caller a 401', async (t) => {
  const valid = new Set(['Bearer t0']);
  const rig = await openRig(t, {
    contexts: (server) => ({ alpha: contextFor(server, { tokenFile: 'token' }) }),
    handle: (exchange) =>
      exchange.respond({
        status: valid.has(exchange.request.headerValues('authorization')[0] ?? '') ? 200 : 401,
      }),
  });
  await written(rig.folder, 'token', 't0');
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  const done = new AbortController();
  const statuses = new Set<number>();
  const asking = (async () => {
    while (!done.signal.aborted) statuses.add((await ask(rig.gateway.url, path)).status);
  })();
  for (let round = 1; round <= 3; round += 1) {
    valid.add(`Bearer t${round}`);
    await replaced(join(rig.folder, 'token'), `t${round}\n`);
    while (rig.log.filter(({ msg }) => msg === 'kubeconfig read').length < round + 1) await rig.nextLine();
    // What was sent before the change may still be on its way.
    await ask(rig.gateway.url, path);
    await ask(rig.gateway.url, path);
    valid.delete(`Bearer t${round - 1}`);
  }
  done.abort();
  await asking;
  assert.deepEqual([...statuses], [200]);
});

test('what is not supported is refused by name, that context only', async (t) => {
  const rig = await openRig(t, {
    contexts: (server) => ({
      alpha: contextFor(server),
      old: contextFor(server, { 'auth-provider': { name: 'oidc' } }),
    }),
  });
  assert.equal((await ask(rig.gateway.url, path)).status, 200);
  for (const [name, words] of [
    ['old', 'context old uses an auth-provider, which is not supported yet'],
  ] as const) {
    const { status, body } = await ask(rig.gateway.url, `/clusters/${name}/version`);
    assert.equal(status, 503);
    assert.ok(statusIn(body).message.includes(words), body);
  }
});

test('of two files with one name the first keeps it, the second is told by name, and inherits it', async (t) => {
  await using second = await listenUpstream({ handle: (exchange) => exchange.respond({ body: 'second' }) });
  const first = await openRig(t);
  const other = await written(
    first.folder,
    'other',
    kubeconfigText({ alpha: contextFor(second), beta: contextFor(second) }),
  );
  const lines: string[] = [];
  await using gateway = await Gateway.open(
    {
      kubeconfigs: [first.kubeconfig, other],
      listen: { port: 0 },
      admin: { port: 0 },
      limits: { drainTimeoutMs: 100 },
    },
    { logger: createLogger({ destination: { write: (line) => void lines.push(line) } }) },
  );
  assert.equal((await ask(gateway.url, path)).body, 'ok');
  assert.equal((await ask(gateway.url, path.replace('alpha', 'beta'))).body, 'second');
  const { conflicts } = JSON.parse((await ask(gateway.adminUrl, '/debug/clusters')).body);
  assert.deepEqual(conflicts, [{ name: 'alpha', source: other, heldBy: first.kubeconfig }]);
  assert.ok(lines.some((line) => line.includes('taken by a context of another kubeconfig')));
  await first.replaceKubeconfig(kubeconfigText({}));
  while ((await ask(gateway.url, path)).body !== 'second')
    await new Promise((resolve) => setTimeout(resolve, 20));
});

test('a kubeconfig that is missing, empty or malformed at the start is a clear error', async (t) => {
  const { folder } = await openRig(t);
  const start = (kubeconfig: string) =>
    Gateway.open({ kubeconfigs: [kubeconfig], listen: { port: 0 }, admin: { port: 0 }, logLevel: 'silent' });
  await assert.rejects(start(`${folder}/none`), (error) => {
    assert.ok(error instanceof ProcessError);
    assert.equal(error.code, 'ERR_RH_FILE_UNUSABLE');
    assert.match(error.message, /cannot read the kubeconfig .*none/);
    return true;
  });
  for (const text of ['', 'not: [yaml', 'kind: Pod']) {
    const file = `${folder}/bad`;
    await writeFile(file, text);
    await assert.rejects(
      start(file),
      (error) => error instanceof KubernetesError && error.code === 'ERR_RH_KUBECONFIG_INVALID',
    );
  }
});

test('W11: behind one address another path is another cluster: what runs at the old one ends within 2 s', async (t) => {
  const at = (server: { readonly url: string }, base: string) => contextFor({ url: `${server.url}${base}` });
  const rig = await openRig(t, {
    handle: startWatches,
    contexts: (server) => ({ alpha: at(server, '/k8s/clusters/c-1') }),
  });
  const watching = await watch(rig.gateway.url);
  const started = performance.now();
  await rig.replaceKubeconfig(kubeconfigText({ alpha: at(rig.upstream, '/k8s/clusters/c-2') }));
  const events = (await textOf(watching)).trimEnd().split('\n');
  assert.ok(performance.now() - started < 2_000);
  assert.equal(JSON.parse(events.at(-1)!).object.details.causes[0].reason, 'ERR_RH_IDENTITY_CLOSED');
  assert.equal((await ask(rig.gateway.url, path)).status, 200);
  assert.match(rig.upstream.requests.at(-1)!.path, /^\/k8s\/clusters\/c-2\/version$/);
  assert.equal(rig.gateway.inspect().totals.built, 1, 'it is the same server');
});

test('a context whose address or name could never be asked is refused by itself, also while the gateway runs; the others go on', async (t) => {
  const rig = await openRig(t, {
    contexts: (server) => ({ alpha: contextFor(server), beta: contextFor(server) }),
  });
  const beta = contextFor(rig.upstream);
  for (const cluster of [
    { ...beta.cluster, 'tls-server-name': '.' },
    { ...beta.cluster, server: 'https://.' },
  ]) {
    const seen = rig.log.length;
    await rig.replaceKubeconfig(
      kubeconfigText({
        alpha: contextFor(rig.upstream),
        beta: { ...beta, cluster },
        gamma: { ...beta, cluster },
      }),
    );
    await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['msg'] === 'kubeconfig read');
    assert.deepEqual(
      rig.gateway.clusters.map(({ name, state }) => `${name} ${state}`),
      ['alpha unknown', 'beta stale', 'gamma refused'],
    );
    assert.equal((await ask(rig.gateway.url, path.replace('alpha', 'gamma'))).status, 503);
    assert.equal((await ask(rig.gateway.url, path.replace('alpha', 'beta'))).status, 200, 'as it was');
    await rig.replaceKubeconfig(kubeconfigText({ alpha: contextFor(rig.upstream), beta }));
    await rig.waitForLog((line) => rig.log.indexOf(line) > seen && line['msg'] === 'kubeconfig read');
  }
});

test('the last good certificate of one user is not shown for another one whose own is bad', async (t) => {
  const user = async (commonName: string) => {
    const { certPem, keyPem } = await authority.issue({ commonName, usage: 'client' });
    return { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) };
  };
  const admin = await user('admin');
  const viewer = await user('viewer');
  const half = { ...viewer, 'client-key-data': admin['client-key-data'] };
  const rig = await openRig(t, { contexts: (server) => ({ alpha: contextFor(server, admin) }) });
  await using second = await listenUpstream();
  const text = (credential: typeof admin): string =>
    kubeconfigText({ alpha: contextFor(second, credential) })
      .replace('"user":"alpha"', '"user":"viewer"')
      .replace('"users":[{"name":"alpha"', '"users":[{"name":"viewer"');
  await ask(rig.gateway.url, path);
  await rig.replaceKubeconfig(text(half));
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  await ask(rig.gateway.url, path);
  assert.equal(second.received, 0, 'it is as it was, as a whole');
  assert.equal(rig.gateway.clusters[0]?.state, 'stale');
  await rig.replaceKubeconfig(text(viewer));
  await rig.waitForLog(() => rig.gateway.clusters[0]?.state !== 'stale');
  assert.equal((await ask(rig.gateway.url, path)).body, 'ok');
  assert.deepEqual(
    second.connections.map(({ tls }) => tls?.clientCommonName),
    ['viewer'],
  );
});
