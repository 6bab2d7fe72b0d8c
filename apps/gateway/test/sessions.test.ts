/** Sessions as those who run the gateway see them: listed, counted, logged, and ended one by one. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask, dialHttp2 } from './support/clients.ts';
import { FrontClients, frontOptions, fronts } from './support/fronts.ts';
import type { Rig } from './support/gateway-rig.ts';
import { Http2SessionClient } from './support/http2-session-client.ts';
import { SessionClient } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

type Row = Record<string, unknown>;

const pod = '/clusters/alpha/api/v1/namespaces/web/pods/p';
const everywhere = { clusters: ['*'], apiGroups: ['*'], namespaces: ['*'], resources: ['*'] };
/** Jane may do everything, also as joe. */
const callers = {
  tokens: ['planted-token,jane,u-1,dev'],
  authorization: JSON.stringify({
    version: 1,
    rules: [
      { name: 'dev', groups: ['dev'], ...everywhere, verbs: ['*'] },
      { name: 'joe', users: ['joe'], ...everywhere, verbs: ['create'] },
    ],
  }),
};
const jane = ['Authorization: Bearer planted-token'];

/** That a buffer is full is told by nobody. */
async function waitFor(holds: () => boolean): Promise<void> {
  for (let quiet = 0; quiet < 5; quiet = holds() ? quiet + 1 : 0) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function list({ gateway }: Pick<Rig, 'gateway'>): Promise<Row[]> {
  const { status, body } = await ask(gateway.adminUrl, '/debug/sessions');
  assert.equal(status, 200);
  const { schemaVersion, sessions } = JSON.parse(body);
  assert.equal(schemaVersion, 1);
  return sessions;
}

function kill({ gateway }: Pick<Rig, 'gateway'>, id: unknown, method = 'POST', fields: string[] = []) {
  return ask(gateway.adminUrl, `/debug/sessions/kill?id=${String(id)}`, { method, fields });
}

/** The lines of the gateway's own metrics that begin so. */
async function metricsOf({ gateway }: Pick<Rig, 'gateway'>, ...names: string[]): Promise<string[]> {
  const { body } = await ask(gateway.adminUrl, '/metrics');
  return body
    .split('\n')
    .filter((line) => names.some((name) => line.startsWith(`roundhouse_gateway_${name}{`)))
    .map((line) => line.replace('roundhouse_gateway_', ''));
}

test('the admin listener shows whose a session is, what for, since when, and its bytes both ways', async (t) => {
  const rig = await openSessions(t, {}, callers);
  assert.deepEqual(await list(rig), []);
  using exec = await SessionClient.open(rig.gateway.url, {
    path: `${pod}/exec?command=planted-query`,
    fields: jane,
  });
  using forward = await SessionClient.open(rig.gateway.url, {
    path: `${pod}/portforward?ports=80`,
    protocol: 'websocket',
    fields: [...jane, 'Impersonate-User: joe'],
  });
  await Promise.all([exec.answered(), forward.answered()]);
  exec.socket.write('hello');
  await exec.until(() => exec.body === 'hello');
  const rows = await list(rig);
  const [first = {}, second = {}] = rows.toSorted((left) => (left['subresource'] === 'exec' ? -1 : 1));
  const { id, startedAt, ...rest } = first;
  assert.match(String(id), /^[0-9a-f]{16}$/);
  assert.deepEqual(exec.values('x-roundhouse-request-id'), [id]);
  assert.ok(Math.abs(Date.parse(String(startedAt)) - Date.now()) < 10_000);
  assert.deepEqual(rest, {
    user: 'jane',
    cluster: 'alpha',
    verb: 'create',
    apiGroup: '',
    resource: 'pods',
    subresource: 'exec',
    namespace: 'web',
    name: 'p',
    protocol: 'SPDY/3.1',
    bytesIn: 5,
    bytesOut: 5,
  });
  // A GET, and all the same a right to create.
  assert.deepEqual(
    ['user', 'as', 'verb', 'subresource', 'protocol', 'bytesIn', 'bytesOut'].map((name) => second[name]),
    ['jane', 'joe', 'create', 'portforward', 'websocket', 0, 0],
  );
  assert.doesNotMatch(JSON.stringify(rows), /planted/);
  exec.socket.end();
  await exec.gone();
  await rig.requestLines(1);
  assert.deepEqual(
    (await list(rig)).map((row) => row['id']),
    [second['id']],
  );
});

test('what is no resource is shown by its path', async (t) => {
  const rig = await openSessions(t);
  using client = await SessionClient.open(rig.gateway.url, {
    path: '/clusters/alpha/odd%20path?planted',
    protocol: 'websocket',
  });
  await client.answered();
  const [{ verb, path, resource } = {}] = await list(rig);
  assert.deepEqual({ verb, path, resource }, { verb: 'get', path: '/odd path', resource: undefined });
});

for (const protocol of ['SPDY/3.1', 'websocket'] as const) {
  test(`${protocol}: a session is killed by its id, on both sides and at once; others go on`, async (t) => {
    const rig = await openSessions(t);
    const { gateway, server } = rig;
    using victim = await SessionClient.open(gateway.url, { protocol });
    await victim.answered();
    const [{ id, user } = {}] = await list(rig);
    using other = await SessionClient.open(gateway.url, { protocol });
    await other.answered();
    const { status, body } = await kill(rig, id);
    assert.equal(status, 200);
    assert.equal(JSON.parse(body).ended.id, id);
    await victim.closes();
    assert.equal(victim.ended, false, 'it is not taken for a good end');
    await server.waitForOpen(1);
    const line = await rig.waitForLog(({ msg }) => msg === 'request');
    assert.deepEqual([line['req'], line['code'], line['error']], [id, 101, 'ERR_RH_SESSION_KILLED']);
    const said = await rig.waitForLog(({ msg }) => msg === 'session ended by an operator');
    assert.deepEqual([said['req'], said['user'], said['cluster']], [id, user, 'alpha']);
    other.socket.write('still here');
    await other.until(() => other.body === 'still here');
    assert.equal((await list(rig)).length, 1);
    assert.equal((await kill(rig, id)).status, 404);
  });
}

for (const front of fronts) {
  test(`over ${front}: a session of which nobody takes anything is killed as well`, async (t) => {
    const rig = await openSessions(
      t,
      {
        answer: (connection) => {
          void connection.write(connection.switchingHead());
          const push = (): void => {
            while (!connection.socket.destroyed && connection.socket.write(Buffer.alloc(65_536)));
          };
          connection.socket.on('drain', push);
          push();
        },
      },
      frontOptions(front),
    );
    await using clients = new FrontClients(rig.gateway.url, front);
    const client = await clients.open({ path: `${pod}/exec?command=yes` });
    await client.answered();
    const taking = 'socket' in client ? client.socket : client.stream;
    taking.pause();
    const connection = await rig.server.head();
    // Everything between the two is full.
    await waitFor(() => connection.socket.writableNeedDrain);
    const [{ id } = {}] = await list(rig);
    assert.equal((await kill(rig, id)).status, 200);
    await rig.server.waitForOpen(0);
    const [line] = await rig.requestLines(1);
    assert.equal(line?.['error'], 'ERR_RH_SESSION_KILLED');
    assert.deepEqual(await list(rig), []);
  });
}

test('a kill of what is not open, or that is no POST, or from a page, ends nothing and says why', async (t) => {
  const rig = await openSessions(t);
  using client = await SessionClient.open(rig.gateway.url);
  await client.answered();
  const [{ id } = {}] = await list(rig);
  const unknown = await kill(rig, '0123456789abcdef');
  assert.equal(unknown.status, 404);
  assert.equal(unknown.headers['content-type'], 'application/json');
  assert.deepEqual(JSON.parse(unknown.body), {
    schemaVersion: 1,
    error: {
      code: 'ERR_RH_SESSION_UNKNOWN',
      message: 'ERR_RH_SESSION_UNKNOWN: no session 0123456789abcdef is open',
    },
  });
  assert.equal((await kill(rig, '')).status, 404);
  const got = await kill(rig, id, 'GET');
  assert.deepEqual([got.status, got.headers.allow], [405, 'POST']);
  assert.equal((await kill(rig, id, 'POST', ['Origin', 'https://evil.example'])).status, 403);
  assert.equal((await list(rig)).length, 1);
});

// It must listen where other machines could reach it, to see that they get nowhere.
test('an admin listener that other machines reach is warned of, and ends nothing for them unless it is told to', async (t) => {
  for (const adminRemoteActions of [false, true]) {
    const rig = await openSessions(t, {}, { admin: { host: '0.0.0.0', port: 0 }, adminRemoteActions });
    const warning = await rig.waitForLog(({ level }) => level === 'warn');
    assert.match(String(warning['msg']), /can be reached from other machines/);
    assert.equal(warning['remoteActions'], adminRemoteActions);
    const { port } = new URL(rig.gateway.adminUrl);
    const answer = await ask(`http://127.0.0.1:${port}`, '/debug/sessions/kill?id=0', {
      method: 'POST',
      fields: ['Host', `gateway.example:${port}`],
    });
    assert.equal(answer.status, adminRemoteActions ? 404 : 403);
    if (!adminRemoteActions) assert.match(answer.body, /unless --admin-remote-actions says otherwise/);
  }
  const { log } = await openSessions(t);
  assert.ok(!log.some(({ level }) => level === 'warn'), 'on loopback there is nothing to warn of');
});

test('sessions are counted while they are open and by how they ended; their bytes as they pass, and once', async (t) => {
  const rig = await openSessions(t, {
    answer: (connection) => {
      void connection.write(connection.switchingHead());
      connection.socket.on('data', (chunk: Buffer) => {
        if (String(chunk) === 'break') connection.reset();
        else connection.socket.write(chunk);
      });
      connection.socket.once('end', () => connection.socket.end());
    },
  });
  const { gateway } = rig;
  const open = async (protocol: 'SPDY/3.1' | 'websocket' = 'SPDY/3.1') =>
    (await SessionClient.open(gateway.url, { protocol })).answered();
  using ending = await open();
  using leaving = await open();
  using breaking = await open();
  using killed = await open('websocket');
  const bytes = async (): Promise<number[]> =>
    (await metricsOf(rig, 'received_bytes_total', 'sent_bytes_total')).map((line) =>
      Number(line.split(' ')[1]),
    );
  assert.deepEqual((await metricsOf(rig, 'sessions', 'long_running_requests')).toSorted(), [
    'long_running_requests{cluster="alpha",verb="create"} 3',
    'long_running_requests{cluster="alpha",verb="get"} 1',
    'sessions{cluster="alpha",protocol="spdy/3.1"} 3',
    'sessions{cluster="alpha",protocol="websocket"} 1',
  ]);
  ending.socket.write('twelve bytes');
  await ending.until(() => ending.body === 'twelve bytes');
  assert.deepEqual(await bytes(), [12, 12]);
  assert.deepEqual(await bytes(), [12, 12], 'a look changes nothing');
  ending.socket.end('and six');
  await ending.gone();
  leaving.socket.resetAndDestroy();
  breaking.socket.write('break');
  await breaking.closes();
  await kill(rig, (await list(rig)).find(({ protocol }) => protocol === 'websocket')?.['id']);
  await killed.closes();
  await rig.requestLines(4);
  assert.deepEqual(await bytes(), [12 + 7 + 5, 12 + 7]);
  assert.deepEqual((await metricsOf(rig, 'sessions_ended_total')).toSorted(), [
    'sessions_ended_total{cluster="alpha",reason="client"} 1',
    'sessions_ended_total{cluster="alpha",reason="cluster"} 1',
    'sessions_ended_total{cluster="alpha",reason="ended"} 1',
    'sessions_ended_total{cluster="alpha",reason="killed"} 1',
  ]);
  assert.deepEqual(
    (await metricsOf(rig, 'sessions', 'long_running_requests')).map((line) => line.split(' ')[1]),
    ['0', '0', '0', '0'],
  );
});

test('an upgrade is long-running also where the path does not say so', async (t) => {
  const rig = await openSessions(t);
  using client = await SessionClient.open(rig.gateway.url, {
    path: '/clusters/alpha/apis/subresources.kubevirt.io/v1/namespaces/web/virtualmachineinstances/vm/console',
    protocol: 'websocket',
  });
  await client.answered();
  assert.deepEqual(await metricsOf(rig, 'long_running_requests'), [
    'long_running_requests{cluster="alpha",verb="get"} 1',
  ]);
  client.socket.end();
  await client.gone();
  await rig.requestLines(1);
  assert.deepEqual(await metricsOf(rig, 'request_duration_seconds_count'), []);
});

async function auditLines(rig: Rig, count: number): Promise<Row[]> {
  for (;;) {
    const text = await readFile(join(rig.folder, 'audit.log'), 'utf8');
    const lines = text.split('\n').filter((line) => line !== '');
    if (lines.length >= count) return lines.map((line) => JSON.parse(line) as Row);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const audited = { ...callers, audit: (folder: string) => ({ log: join(folder, 'audit.log') }) };

test('a session has a line when it begins and one when it ends: bytes both ways, duration, code 101 and why', async (t) => {
  const rig = await openSessions(t, {}, audited);
  const open = async () =>
    (
      await SessionClient.open(rig.gateway.url, { path: `${pod}/exec?command=planted-query`, fields: jane })
    ).answered();
  using good = await open();
  good.socket.write('seven b');
  await good.until(() => good.body === 'seven b');
  const [started = {}] = await auditLines(rig, 1);
  assert.deepEqual(
    [started['stage'], started['code'], started['bytesIn']],
    ['Started', undefined, undefined],
  );
  good.socket.end();
  await good.gone();
  const [, ended = {}] = await auditLines(rig, 2);
  const { id, user, rule, cluster, verb, resource, subresource, namespace, name } = ended;
  assert.deepEqual(
    { id, user, rule, cluster, verb, resource, subresource, namespace, name },
    {
      id: started['id'],
      user: 'jane',
      rule: 'dev',
      cluster: 'alpha',
      verb: 'create',
      resource: 'pods',
      subresource: 'exec',
      namespace: 'web',
      name: 'p',
    },
  );
  assert.deepEqual(
    [ended['stage'], ended['code'], ended['bytesIn'], ended['bytesOut'], 'error' in ended],
    ['ResponseComplete', 101, 7, 7, false],
  );
  assert.ok(Number(ended['durationMs']) > 0);
  using broken = await open();
  broken.socket.resetAndDestroy();
  const [, , , cut = {}] = await auditLines(rig, 4);
  assert.deepEqual([cut['code'], cut['error']], [101, 'ERR_RH_CLIENT_GONE']);
  const lines = await rig.requestLines(2);
  assert.deepEqual(
    lines.map((line) => [line['code'], line['bytesIn'], line['bytesOut'], line['error']]),
    [
      [101, 7, 7, undefined],
      [101, 0, 0, 'ERR_RH_CLIENT_GONE'],
    ],
  );
  assert.doesNotMatch(JSON.stringify([await auditLines(rig, 4), rig.log]), /planted/);
});

test('over HTTP/2 the code of a session is 200, and all else is the same', async (t) => {
  const rig = await openSessions(t, {}, { ...audited, tls: true });
  await using session = await dialHttp2(rig.gateway.url);
  if (session.remoteSettings?.enableConnectProtocol !== true) await once(session, 'remoteSettings');
  using client = new Http2SessionClient(session, {
    path: `${pod}/exec?command=ls`,
    fields: { authorization: 'Bearer planted-token' },
  });
  await client.answered();
  assert.equal(client.status, 200);
  client.write('seven b');
  await client.until(() => client.body === 'seven b');
  const [row = {}] = await list(rig);
  assert.deepEqual(
    ['user', 'verb', 'subresource', 'protocol', 'bytesIn', 'bytesOut'].map((name) => row[name]),
    ['jane', 'create', 'exec', 'websocket', 7, 7],
  );
  assert.equal((await kill(rig, row['id'])).status, 200);
  await client.closes();
  assert.notEqual(client.stream.rstCode, 0);
  await rig.server.waitForOpen(0);
  const [started, ended = {}] = await auditLines(rig, 2);
  assert.equal(started?.['stage'], 'Started');
  assert.deepEqual(
    [ended['code'], ended['bytesIn'], ended['bytesOut'], ended['error']],
    [200, 7, 7, 'ERR_RH_SESSION_KILLED'],
  );
});
