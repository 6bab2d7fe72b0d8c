import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { AdminServer, Health, Metrics, ProcessError } from '../src/index.ts';
import type { AdminServerOptions } from '../src/index.ts';

async function open(
  routes = {},
  more: Partial<AdminServerOptions> = {},
): Promise<{ admin: AdminServer; readyz: Health; broken: { now: boolean } }> {
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
    ...more,
  });
  return { admin, readyz, broken };
}

async function get(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; body: string; allow?: string }> {
  const outgoing = request(url, { method, headers, agent: false }).end();
  const [response] = await once(outgoing, 'response');
  const { allow } = response.headers;
  return { status: response.statusCode, body: await text(response), ...(allow !== undefined && { allow }) };
}

/** An action that counts how often it was taken. */
function counted(fromAnywhere = false) {
  const done: string[] = [];
  const actions: AdminServerOptions['actions'] = {
    routes: {
      '/do': ({ searchParams }) => {
        done.push(searchParams.get('what') ?? '');
        return { body: 'done' };
      },
    },
    fromAnywhere,
    option: '--remote',
  };
  return { done, actions };
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
  assert.deepEqual(await get(`${admin.url}/livez`, {}, 'POST'), {
    status: 405,
    body: 'GET or HEAD only\n',
    allow: 'GET, HEAD',
  });
  assert.equal((await get(`${admin.url}/nothing`, {}, 'POST')).status, 404);
  assert.equal((await get(`${admin.url}/nothing`)).status, 404);
  const { status, body } = await get(`${admin.url}/debug/broken`);
  assert.equal(status, 500);
  assert.doesNotMatch(body, /secret/);
});

test('an action is taken on POST, by nothing else, and from no page of another site', async () => {
  const { done, actions } = counted();
  const { admin } = await open({}, { actions });
  await using _owned = admin;
  const { port } = new URL(admin.url);
  const path = `${admin.url}/do?what=it`;
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
    const { status, allow } = await get(path, {}, method);
    assert.deepEqual([status, allow], [405, 'POST'], method);
  }
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { host: `evil.example:${port}` },
    { host: `evil.example:${port}`, origin: `http://evil.example:${port}` },
  ]) {
    assert.equal((await get(path, headers, 'POST')).status, 403, JSON.stringify(headers));
  }
  assert.deepEqual(done, []);
  assert.deepEqual(await get(path, {}, 'POST'), { status: 200, body: 'done' });
  assert.deepEqual(done, ['it']);
  assert.match((await get(`${admin.url}/`)).body, /^\/do$/m);
});

// These two must listen where other machines could reach them, to see that they get nowhere.
test('where other machines reach the listener, actions are taken from this one only', async () => {
  const { done, actions } = counted();
  const { admin } = await open({}, { actions, host: '0.0.0.0' });
  await using _owned = admin;
  const { port } = new URL(admin.url);
  const here = `http://127.0.0.1:${port}`;
  const elsewhere = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  const refused = [
    await get(`${here}/do`, { host: `gateway.example:${port}` }, 'POST'),
    await get(`${here}/do`, { origin: 'https://evil.example' }, 'POST'),
    ...(elsewhere === undefined
      ? []
      : [await get(`http://${elsewhere}:${port}/do`, { host: `127.0.0.1:${port}` }, 'POST')]),
  ];
  for (const { status, body } of refused) {
    assert.equal(status, 403);
    assert.match(body, /loopback address of this machine only, unless --remote says otherwise/);
  }
  assert.equal((await get(`${here}/livez`, { host: `gateway.example:${port}` })).status, 200);
  assert.deepEqual(done, []);
  assert.equal((await get(`${here}/do`, {}, 'POST')).status, 200);
  assert.equal(done.length, 1);
});

test('told to, it takes actions from everywhere, and still from no page', async () => {
  const { done, actions } = counted(true);
  const { admin } = await open({}, { actions, host: '0.0.0.0' });
  await using _owned = admin;
  const { port } = new URL(admin.url);
  const path = `http://127.0.0.1:${port}/do`;
  const host = `gateway.example:${port}`;
  assert.equal((await get(path, { host, origin: `http://${host}` }, 'POST')).status, 403);
  assert.equal(done.length, 0);
  assert.equal((await get(path, { host }, 'POST')).status, 200);
  assert.equal(done.length, 1);
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
