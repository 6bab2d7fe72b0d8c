/** The certificates of clusters, in files that change: what is in use, what is said of it, and what becomes of what is under way. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createLogger } from '@roundhouse/process';
import { CertificateAuthority, until } from '@roundhouse/simulators';
import type { Exchange } from '@roundhouse/simulators';
import { Gateway } from '../src/index.ts';
import { ask, open, statusIn } from './support/clients.ts';
import { authority, openRig, replaced, written } from './support/gateway-rig.ts';
import type { Rig, RigOptions } from './support/gateway-rig.ts';
import { SessionClient } from './support/session-client.ts';

const path = '/clusters/alpha/version';
const watchPath = '/clusters/alpha/api/v1/pods?watch=1';

const client = (commonName: string) => authority.issue({ commonName, usage: 'client' });

/** Answers with the name on the certificate; a watch is begun and not ended. */
async function tellName(exchange: Exchange): Promise<void> {
  if (exchange.request.path.includes('watch')) {
    await exchange.writeHead(200, { 'content-type': 'application/json' });
  } else {
    await exchange.respond({ body: exchange.connection.tls?.clientCommonName ?? 'nobody' });
  }
}

/** A gateway whose cluster alpha has its CA, certificate and key in files of the folder. */
async function openFiles(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const rig = await openRig(t, {
    handle: tellName,
    contexts: ({ url }) => ({
      alpha: {
        cluster: { server: url, 'certificate-authority': 'ca.crt' },
        user: { 'client-certificate': 'tls.crt', 'client-key': 'tls.key' },
      },
    }),
    ...options,
  });
  const first = await client('first');
  await written(rig.folder, 'tls.crt', first.certPem);
  await written(rig.folder, 'tls.key', first.keyPem);
  await written(rig.folder, 'ca.crt', authority.certificatePem);
  await rig.waitForLog(() => rig.gateway.clusters[0]?.state === 'unknown');
  return rig;
}

async function replacePair({ folder }: Rig, commonName: string): Promise<void> {
  const { certPem, keyPem } = await client(commonName);
  await replaced(join(folder, 'tls.crt'), certPem);
  await replaced(join(folder, 'tls.key'), keyPem);
}

const saidOf = ({ log }: Rig, message: string) => log.filter(({ msg }) => msg === message);

async function alphaOf({ gateway }: Rig) {
  return JSON.parse((await ask(gateway.adminUrl, '/debug/clusters')).body).clusters[0];
}

async function metric({ gateway }: Rig, name: string): Promise<string[]> {
  const { body } = await ask(gateway.adminUrl, '/metrics');
  return body
    .split('\n')
    .filter((line) => line.startsWith(`roundhouse_gateway_${name}{`))
    .map((line) => line.slice(line.indexOf('{')));
}

const generations = ({ gateway }: Rig): string[] =>
  gateway.inspect().transports.map(({ state, generations: shown }) => `${state} ${shown.join()}`);

test('BB-14: a pair that is replaced on disk is in use at once, told once, and what is under way goes on', async (t) => {
  const rig = await openFiles(t, { limits: { drainTimeoutMs: 3_000, drainSpreadMs: 0 } });
  assert.equal((await ask(rig.gateway.url, path)).body, 'first');
  const watching = await open(rig.gateway.url, watchPath);
  const told = saidOf(rig, 'certificates changed').length;
  await replacePair(rig, 'second');
  await rig.waitForLog(() => saidOf(rig, 'certificates changed').length > told);
  assert.equal((await ask(rig.gateway.url, path)).body, 'second');
  assert.equal(watching.readable, true);
  assert.deepEqual(generations(rig), ['open 2', 'draining 1']);
  const [line] = saidOf(rig, 'certificates changed').slice(told);
  assert.deepEqual([line?.['cluster'], line?.['parts'], line?.['level']], ['alpha', ['pair'], 'info']);
  assert.deepEqual(await metric(rig, 'material_generation'), [
    '{cluster="alpha",part="ca"} 1',
    '{cluster="alpha",part="pair"} 2',
  ]);
  assert.deepEqual(await metric(rig, 'material_changes_total'), [
    '{cluster="alpha",part="ca"} 0',
    '{cluster="alpha",part="pair"} 1',
  ]);
  watching.resume();
  await new Promise((resolve) => watching.once('close', resolve));
  await until(() => generations(rig).length === 1, 'one is left');
  assert.deepEqual(generations(rig), ['open 2']);
});

test('W7, G12, BB-15: a CA that turns bad leaves the last good in use and holds up no certificate; the status says it, once', async (t) => {
  const rig = await openFiles(t);
  assert.equal((await ask(rig.gateway.url, path)).body, 'first');
  const ca = join(rig.folder, 'ca.crt');
  const accepted = rig.upstream.accepted;
  // At the start there was no file.
  assert.deepEqual(await metric(rig, 'material_bad_total'), [
    '{cluster="alpha",part="ca"} 1',
    '{cluster="alpha",part="pair"} 1',
  ]);
  for (const bad of ['', authority.certificatePem.slice(0, 200)]) {
    const told = saidOf(rig, 'certificates unusable, the last good ones stay in use').length;
    await replaced(ca, bad);
    await rig.waitForLog(
      () => saidOf(rig, 'certificates unusable, the last good ones stay in use').length > told,
    );
    assert.equal((await ask(rig.gateway.url, path)).body, 'first');
  }
  assert.equal(rig.upstream.accepted, accepted, 'no connection was made anew');
  const alpha = await alphaOf(rig);
  assert.equal(alpha.state, 'stale');
  assert.equal(alpha.lastError.code, 'ERR_RH_MATERIAL_INVALID');
  assert.equal(alpha.material.ca.lastError.code, 'ERR_RH_MATERIAL_INVALID');
  assert.equal(alpha.material.pair.lastError, null);
  assert.deepEqual(await metric(rig, 'material_bad_total'), [
    '{cluster="alpha",part="ca"} 3',
    '{cluster="alpha",part="pair"} 1',
  ]);
  assert.deepEqual(await metric(rig, 'material_good'), [
    '{cluster="alpha",part="ca"} 0',
    '{cluster="alpha",part="pair"} 1',
  ]);
  // The pair goes on under it.
  await replacePair(rig, 'second');
  await until(() => rig.gateway.clusters[0]?.generation === 2, 'the pair is in use');
  assert.equal((await ask(rig.gateway.url, path)).body, 'second');
  // Coming back is no change.
  await replaced(ca, authority.certificatePem);
  await until(() => rig.gateway.clusters[0]?.state !== 'stale', 'good again');
  assert.equal((await ask(rig.gateway.url, path)).body, 'second');
  assert.equal(rig.gateway.clusters[0]?.generation, 2);
  assert.equal(saidOf(rig, 'certificates unusable, the last good ones stay in use').length, 2);
});

test('BB-16: half a pair is neither used nor told of while the other half is on its way', async (t) => {
  const rig = await openFiles(t);
  const { certPem, keyPem } = await client('second');
  assert.equal((await ask(rig.gateway.url, path)).body, 'first');
  await replaced(join(rig.folder, 'tls.crt'), certPem);
  await until(() => rig.gateway.clusters[0]?.state === 'stale', 'the half is seen');
  assert.equal((await ask(rig.gateway.url, path)).body, 'first');
  await replaced(join(rig.folder, 'tls.key'), keyPem);
  await until(() => rig.gateway.clusters[0]?.generation === 2, 'the whole is in use');
  assert.equal((await ask(rig.gateway.url, path)).body, 'second');
  assert.deepEqual(saidOf(rig, 'certificates unusable, the last good ones stay in use'), []);
});

test('BB-15: without a CA that can be used at the start the cluster is refused, and nothing is dialed', async (t) => {
  const rig = await openFiles(t);
  const other = await openRig(t, {
    contexts: () => ({
      alpha: { cluster: { server: rig.upstream.url, 'certificate-authority': join(rig.folder, 'none') } },
    }),
  });
  const { status, body } = await ask(other.gateway.url, path);
  assert.deepEqual([status, statusIn(body).error], [503, 'ERR_RH_CLUSTER_REFUSED']);
  assert.equal(rig.upstream.accepted, 0);
  assert.equal(saidOf(other, 'certificates unusable').length, 1);
  await written(rig.folder, 'none', authority.certificatePem);
  await other.waitForLog(({ msg }) => msg === 'kubeconfig read');
  assert.equal((await ask(other.gateway.url, path)).body, 'nobody');
});

test('a certificate that ends soon is warned of at the start, without its content', async (t) => {
  const soon = await authority.issue({
    commonName: 'soon',
    usage: 'client',
    notBefore: new Date(Date.now() - 90 * 86_400_000),
    notAfter: new Date(Date.now() + 2 * 86_400_000),
  });
  const rig = await openRig(t, {
    handle: tellName,
    contexts: ({ url }) => ({
      alpha: {
        cluster: { server: url, 'insecure-skip-tls-verify': true },
        user: {
          'client-certificate-data': Buffer.from(soon.certPem).toString('base64'),
          'client-key-data': Buffer.from(soon.keyPem).toString('base64'),
        },
      },
    }),
  });
  const line = await rig.waitForLog(({ msg }) => msg === 'certificate expires very soon');
  assert.deepEqual([line['level'], line['cluster'], line['part']], ['warn', 'alpha', 'pair']);
  assert.equal(JSON.stringify(rig.log).includes('BEGIN'), false);
});

test('sessions of a cluster whose certificates have changed end at once where that is wanted', async (t) => {
  const rig = await openFiles(t, {
    sessionsAfterRotation: 'close',
    upstream: {
      upgrades: true,
    },
    handle: async (exchange) => {
      if (exchange.upgrade === undefined) return tellName(exchange);
      const protocol = exchange.request.headerValues('upgrade')[0];
      exchange.upgrade
        .switchProtocols(
          `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
        )
        ?.on('error', () => undefined);
    },
  });
  using session = await SessionClient.open(rig.gateway.url);
  await session.answered();
  await replacePair(rig, 'second');
  await session.closes();
  assert.equal((await ask(rig.gateway.url, path)).body, 'second');
});

test('a CA is replaced by another through a bundle of both, and nobody notices', async (t) => {
  const rig = await openFiles(t);
  const second = await CertificateAuthority.create({ name: 'second' });
  const serving = await second.issue({ commonName: 'localhost', usage: 'server' });
  const ca = join(rig.folder, 'ca.crt');
  const statuses = new Set<number>();
  const done = new AbortController();
  const asking = (async () => {
    while (!done.signal.aborted) statuses.add((await ask(rig.gateway.url, path)).status);
  })();
  await replaced(ca, authority.certificatePem + second.certificatePem);
  await until(() => rig.gateway.clusters[0]?.generation === 2, 'the bundle is in use');
  rig.upstream.replaceTls({ ...serving, clientCaPem: authority.certificatePem });
  rig.upstream.closeIdle();
  await replaced(ca, second.certificatePem);
  await until(() => rig.gateway.clusters[0]?.generation === 3, 'the new one alone is in use');
  rig.upstream.closeIdle();
  await ask(rig.gateway.url, path);
  done.abort();
  await asking;
  assert.deepEqual([...statuses], [200]);
});

test('so is the certificate that the gateway itself serves with', async (t) => {
  const { folder, kubeconfig } = await openRig(t);
  const ending = await authority.issue({
    commonName: 'localhost',
    usage: 'server',
    notBefore: new Date(Date.now() - 10 * 86_400_000),
    notAfter: new Date(Date.now() + 3_600_000),
  });
  const certFile = await written(folder, 'serving.crt', ending.certPem);
  const keyFile = await written(folder, 'serving.key', ending.keyPem);
  const lines: string[] = [];
  await using gateway = await Gateway.open(
    {
      kubeconfigs: [kubeconfig],
      listen: { port: 0 },
      admin: { port: 0 },
      tls: { certFile, keyFile },
      limits: { drainTimeoutMs: 100 },
    },
    { logger: createLogger({ destination: { write: (line) => void lines.push(line) } }) },
  );
  assert.ok(gateway.url.startsWith('https:'));
  const line = lines
    .map((text) => JSON.parse(text))
    .find(({ msg }) => msg === 'certificate expires very soon');
  assert.deepEqual([line?.level, line?.source], ['warn', certFile]);
});
