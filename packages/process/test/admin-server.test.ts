import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { AdminServer, Health, Metrics, ProcessError } from '../src/index.ts';

async function open(routes = {}): Promise<{ admin: AdminServer; readyz: Health; broken: { now: boolean } }> {
  const readyz = new Health('readyz');
  const broken = { now: false };
  readyz.add({ name: 'clusters', check: () => (broken.now ? 'a secret reason' : undefined) });
  const metrics = new Metrics();
  metrics.counter({ name: 'things_total', help: 'Things.' }).inc(3);
  const admin = await AdminServer.open({
    host: '127.0.0.1',
    port: 0,
    option: '--admin',
    livez: new Health('livez'),
    readyz,
    metrics,
    routes,
    onError: () => {},
  });
  return { admin, readyz, broken };
}

async function get(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; body: string }> {
  const outgoing = request(url, { method, headers, agent: false }).end();
  const [response] = await once(outgoing, 'response');
  return { status: response.statusCode, body: await text(response) };
}

test('health is printed as the kube-apiserver prints it, and reasons are withheld', async () => {
  const { admin, broken } = await open();
  await using _owned = admin;
  assert.deepEqual(await get(`${admin.url}/livez`), { status: 200, body: 'ok' });
  assert.deepEqual(await get(`${admin.url}/readyz?verbose`), {
    status: 200,
    body: '[+]ping ok\n[+]clusters ok\nreadyz check passed\n',
  });
  broken.now = true;
  assert.deepEqual(await get(`${admin.url}/readyz`), {
    status: 500,
    body: '[+]ping ok\n[-]clusters failed: reason withheld\nreadyz check failed\n',
  });
  assert.equal((await get(`${admin.url}/readyz?exclude=clusters`)).status, 200);
});

test('metrics come in the text format, with what this program counted only', async () => {
  const { admin } = await open();
  await using _owned = admin;
  const { status, body } = await get(`${admin.url}/metrics`);
  assert.equal(status, 200);
  assert.match(body, /^things_total 3$/m);
});

test('a page that rebinds its name, or another site, is turned away', async () => {
  const { admin } = await open();
  await using _owned = admin;
  const { port } = new URL(admin.url);
  assert.equal((await get(`${admin.url}/livez`, { host: 'evil.example' })).status, 403);
  assert.equal((await get(`${admin.url}/livez`, { host: `127.0.0.1.evil.example:${port}` })).status, 403);
  assert.equal((await get(`${admin.url}/livez`, { origin: 'https://evil.example' })).status, 403);
  assert.equal((await get(`${admin.url}/livez`, { origin: 'null' })).status, 403);
  assert.equal((await get(`${admin.url}/livez`, { origin: `http://127.0.0.1:${port}` })).status, 200);
  assert.equal((await get(`${admin.url}/livez`, { host: `localhost:${port}` })).status, 200);
  assert.equal((await get(`${admin.url}/livez`, { host: `[::1]:${port}` })).status, 200);
});

test('other methods and paths are refused, a route that throws is a 500 without its message', async () => {
  const { admin } = await open({
    '/debug/broken': () => {
      throw new Error('a secret');
    },
  });
  await using _owned = admin;
  assert.equal((await get(`${admin.url}/livez`, {}, 'POST')).status, 405);
  assert.equal((await get(`${admin.url}/nothing`)).status, 404);
  const { status, body } = await get(`${admin.url}/debug/broken`);
  assert.equal(status, 500);
  assert.doesNotMatch(body, /secret/);
});

test('a port that is taken is named, with the option to change', async () => {
  const { admin } = await open();
  await using _owned = admin;
  const { port } = new URL(admin.url);
  const second = AdminServer.open({
    host: '127.0.0.1',
    port: Number(port),
    option: '--admin',
    livez: new Health('livez'),
    readyz: new Health('readyz'),
    metrics: new Metrics(),
    onError: () => {},
  });
  await assert.rejects(second, (error) => {
    assert.ok(error instanceof ProcessError);
    assert.equal(error.code, 'ERR_RH_LISTEN_FAILED');
    assert.equal(error.exitCode, 3);
    assert.match(error.message, new RegExp(`port ${port} is taken \\(--admin\\)`));
    return true;
  });
});
