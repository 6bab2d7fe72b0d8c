/** What the gateway listens with and lets callers in by is followed live, on connections that stay open too. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { CertificateAuthority } from '@roundhouse/simulators';
import { askHttp2, dialHttp2 } from './support/clients.ts';
import { authority, callersAuthority, openRig, replaced } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';

const path = '/clusters/alpha/version';
const jane = await callersAuthority.issue({ commonName: 'jane', usage: 'client' });
const deep = await callersAuthority.intermediate({ name: 'between' });
const joe = await deep.issue({ commonName: 'joe', usage: 'client' });
const others = await CertificateAuthority.create({ name: 'others' });

interface Kept extends Disposable {
  /** Over the one connection that there is. */
  get(fields?: readonly string[]): Promise<number>;
  readonly dials: () => number;
}

/** A client of one connection that it keeps. */
function keepAlive({ gateway }: Rig, credentials: { cert?: string; key?: string } = {}): Kept {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: authority.certificatePem, ...credentials });
  const ports = new Set<number | undefined>();
  return {
    get: async (fields = []) => {
      const outgoing = request(gateway.url + path, { agent, headers: ['host', 'localhost', ...fields] });
      outgoing.end();
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      ports.add(response.socket.localPort);
      await text(response);
      return response.statusCode ?? 0;
    },
    dials: () => ports.size,
    [Symbol.dispose]: () => agent.destroy(),
  };
}

async function getOnce(rig: Rig, credentials: { cert: string; key: string }): Promise<number> {
  using client = keepAlive(rig, credentials);
  return await client.get();
}

async function servedName({ gateway }: Rig): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

const readAgain = (rig: Rig, what: string) => rig.waitForLog(({ msg }) => msg === `${what} read`);

test('a token that is taken out of its file is refused within 2 s, on an open connection too', async (t) => {
  const rig = await openRig(t, { tls: true, tokens: ['gone,joe,,', 'stays,ann,,'] });
  using client = keepAlive(rig);
  const as = (token: string) => client.get(['authorization', `Bearer ${token}`]);
  assert.deepEqual([await as('gone'), await as('stays')], [200, 200]);
  const started = performance.now();
  await replaced(`${rig.folder}/tokens.csv`, 'stays,ann,,\nnew,kim,,');
  await readAgain(rig, 'token file');
  assert.deepEqual([await as('gone'), await as('stays'), await as('new')], [401, 200, 200]);
  assert.ok(performance.now() - started < 2_000);
  assert.equal(client.dials(), 1);
});

test('a token file that turns bad leaves the last good in use, and no token is in the log', async (t) => {
  const rig = await openRig(t, { tls: true, tokens: ['good,joe,,'] });
  using client = keepAlive(rig);
  for (const bad of ['', 'planted', 'planted,"joe']) {
    const seen = rig.log.length;
    await replaced(`${rig.folder}/tokens.csv`, bad);
    await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['level'] === 'error');
    assert.equal(await client.get(['authorization', 'Bearer good']), 200);
  }
  assert.doesNotMatch(JSON.stringify(rig.log), /planted/);
});

test('BB-19: a client CA that is taken away is refused within 2 s, on open connections of both protocols', async (t) => {
  const rig = await openRig(t, { tls: true });
  using clients = new DisposableStack();
  const kept = [jane, joe].map(({ certPem, keyPem }) =>
    clients.use(keepAlive(rig, { cert: certPem, key: keyPem })),
  );
  const all = () => Promise.all(kept.map((client) => client.get()));
  await using session = await dialHttp2(rig.gateway.url, { cert: jane.certPem, key: jane.keyPem });
  const overHttp2 = async () => (await askHttp2(session, { ':path': path })).status;
  assert.deepEqual([...(await all()), await overHttp2()], [200, 200, 200]);

  const file = `${rig.folder}/callers.pem`;
  await replaced(file, others.certificatePem + callersAuthority.certificatePem);
  await readAgain(rig, 'client CA');
  assert.deepEqual(
    [...(await all()), await overHttp2()],
    [200, 200, 200],
    'another one beside it takes nobody away',
  );

  const started = performance.now();
  const seen = rig.log.length;
  await replaced(file, others.certificatePem);
  await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['msg'] === 'client CA read');
  assert.deepEqual([...(await all()), await overHttp2()], [401, 401, 401]);
  assert.ok(performance.now() - started < 2_000);
  assert.deepEqual(
    kept.map((client) => client.dials()),
    [1, 1],
  );
});

test('BB-19: callers of a client CA that is added are let in on new connections', async (t) => {
  const rig = await openRig(t, { tls: true });
  const kim = await others.issue({ commonName: 'kim', usage: 'client' });
  const credentials = { cert: kim.certPem, key: kim.keyPem };
  assert.equal(await getOnce(rig, credentials), 401);
  await replaced(`${rig.folder}/callers.pem`, callersAuthority.certificatePem + others.certificatePem);
  await readAgain(rig, 'client CA');
  assert.equal(await getOnce(rig, credentials), 200);
  assert.equal(await getOnce(rig, { cert: jane.certPem, key: jane.keyPem }), 200);
});

test('a serving certificate is replaced for new connections; a half-replaced pair and a broken one change nothing', async (t) => {
  const rig = await openRig(t, { tls: true });
  using client = keepAlive(rig, { cert: jane.certPem, key: jane.keyPem });
  await client.get();
  const next = await authority.issue({ commonName: 'next', usage: 'server' });
  await replaced(`${rig.folder}/cert.pem`, next.certPem);
  await rig.waitForLog(({ msg }) => String(msg).startsWith('serving certificate unusable'));
  assert.equal(await servedName(rig), 'localhost');
  await replaced(`${rig.folder}/key.pem`, next.keyPem);
  await readAgain(rig, 'serving certificate');
  assert.equal(await servedName(rig), 'next');
  assert.equal(await client.get(), 200);
  assert.equal(client.dials(), 1, 'open connections go on');
  const seen = rig.log.length;
  await replaced(`${rig.folder}/cert.pem`, next.certPem.slice(0, 200));
  await rig.waitForLog((line) => rig.log.indexOf(line) >= seen && line['level'] === 'error');
  assert.equal(await servedName(rig), 'next');
  assert.equal(await getOnce(rig, { cert: jane.certPem, key: jane.keyPem }), 200);
});
