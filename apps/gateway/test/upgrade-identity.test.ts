/** Who asks for an upgrade, and what for, is decided as for any other request: by the same fields, on the same path. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { UpgradeConnection, UpgradeServer } from '@roundhouse/simulators';
import { statusIn } from './support/clients.ts';
import { callersAuthority } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';
import { FrontClients } from './support/fronts.ts';
import { SessionClient, execPath } from './support/session-client.ts';
import { openSessions } from './support/session-rig.ts';

const protocols = ['SPDY/3.1', 'websocket'] as const;
const pods = '/clusters/alpha/api/v1/namespaces/web/pods';

const tokens = ['good,joe,uid-1,dev', 't-admin,ann,,', 't-viewer,vic,,', 't-lister,lis,,'];

const rule = (name: string, user: string, verbs: string, resources: string, groups = "['']"): string => `
  - name: ${name}
    users: [${user}]
    clusters: [alpha]
    verbs: [${verbs}]
    apiGroups: ${groups}
    resources: [${resources}]
    namespaces: ['*']`;

const rules = `
version: 1
rules:${[
  rule('dev', 'joe', 'create', 'pods/exec'),
  rule('watches', 'joe', 'watch', 'pods'),
  rule('viewer', 'vic', 'get, list, watch', "'*'"),
  rule('lister', 'lis', 'list', 'pods'),
  rule('admin', 'ann', 'create', 'pods/exec'),
].join('')}
  - name: acts-as-joe
    users: [ann]
    clusters: [alpha]
    verbs: [impersonate]
    apiGroups: ['']
    resources: [users, groups]
    namespaces: ['*']
    resourceNames: [joe, dev]
`;

type IdentityRig = Rig & { readonly server: UpgradeServer };

const open = (t: TestContext, more: Parameters<typeof openSessions>[2] = {}): Promise<IdentityRig> =>
  openSessions(t, {}, { tls: true, tokens, ...more });

const bearer = (token: string): string => `Authorization: Bearer ${token}`;

/** The fields by which the cluster is told who is calling. */
const identityOf = ({ fields }: UpgradeConnection): string[] =>
  fields
    .filter(([name]) => /^(?:impersonate|authorization|x[-_]remote)/i.test(name))
    .map(([name, value]) => `${name}: ${value}`);

const joe = [
  'Authorization: Bearer gateway-token',
  'Impersonate-User: joe',
  'Impersonate-Uid: uid-1',
  'Impersonate-Group: dev',
];

for (const protocol of protocols) {
  test(`BB-62: ${protocol}: Connection takes none of the gateway's own fields away, however it names them`, async (t) => {
    const { gateway, server } = await open(t);
    const names = [
      'Impersonate-User',
      'Impersonate-Group',
      'Impersonate-Uid',
      'Impersonate-Extra-Scopes',
      'impersonate_user',
      'Authorization',
      'X-Remote-User',
      'X-Remote-Group',
      'Host',
      'Content-Length',
    ];
    for (const name of names) {
      for (const field of [
        `Connection: ${name}`,
        `Connection: keep-alive, ${name.toUpperCase()}`,
        `Connection:\t,${name.toLowerCase()}\t, `,
      ]) {
        using client = await SessionClient.open(gateway.url, { protocol, fields: [bearer('good'), field] });
        await client.gone();
        assert.equal(client.status, 400, field);
      }
    }
    assert.equal(server.accepted, 0);
    for (const field of ['Keep-Alive', 'TE', 'Proxy-Connection', 'Upgrade', 'X-Of-My-Own', ',,']) {
      using client = await SessionClient.open(gateway.url, {
        protocol,
        fields: [
          bearer('good'),
          `Connection: ${field}`,
          'TE: trailers',
          'X-Of-My-Own: 1',
          'Keep-Alive: timeout=5',
        ],
      });
      await client.answered();
      assert.equal(client.status, 101, field);
    }
    for (const connection of server.connections) assert.deepEqual(identityOf(connection), joe);
    assert.deepEqual(
      server.connections.map((connection) => connection.values('x-of-my-own').length),
      [1, 1, 1, 1, 0, 1],
    );
  });

  test(`BB-63, BB-65: ${protocol}: a client says who it is by its credential alone`, async (t) => {
    const { gateway, server } = await open(t);
    for (const field of [
      'Impersonate-User: root',
      'impersonate-group: system:masters',
      'IMPERSONATE-UID: 1',
      'Impersonate-Extra-Scopes: all',
      'Impersonate-Extra-%2F: all',
      'impersonate_group: system:masters',
    ]) {
      using client = await SessionClient.open(gateway.url, { protocol, fields: [bearer('good'), field] });
      await client.gone();
      assert.equal(client.status, 403, field);
    }
    assert.equal(server.accepted, 0);
    const remote = [
      'X-Remote-User: root',
      'x-remote-group: system:masters',
      'X_Remote_User: root',
      'X-Remote-Extra-Scopes: all',
      'X-Remote-Uid: 0',
    ];
    using nobody = await SessionClient.open(gateway.url, { protocol, fields: remote });
    await nobody.gone();
    assert.equal(nobody.status, 401);
    using client = await SessionClient.open(gateway.url, { protocol, fields: [bearer('good'), ...remote] });
    await client.answered();
    assert.equal(client.status, 101);
    assert.deepEqual(identityOf(await server.head()), joe);
  });

  test(`BB-63: ${protocol}: who may act as somebody does so here, too, and nobody else`, async (t) => {
    const { gateway, server } = await open(t, { authorization: rules });
    const asJoe = ['Impersonate-User: joe', 'Impersonate-Group: dev'];
    using ann = await SessionClient.open(gateway.url, { protocol, fields: [bearer('t-admin'), ...asJoe] });
    await ann.answered();
    assert.equal(ann.status, 101, ann.body);
    assert.deepEqual(identityOf(await server.head()), [
      'Authorization: Bearer gateway-token',
      'Impersonate-User: joe',
      'Impersonate-Group: dev',
    ]);
    for (const fields of [
      [bearer('t-viewer'), ...asJoe],
      [bearer('t-admin'), 'Impersonate-User: root'],
      [bearer('t-admin'), 'Impersonate-User: joe', 'Impersonate-Group: system:masters'],
    ]) {
      using client = await SessionClient.open(gateway.url, { protocol, fields });
      await client.gone();
      assert.equal(client.status, 403);
    }
    assert.equal(server.accepted, 1);
  });

  test(`${protocol}: exec, attach, port-forward and proxy are a create, whatever the method is; a right to read is none`, async (t) => {
    const { gateway, server } = await open(t, { authorization: rules });
    for (const method of ['GET', 'POST']) {
      using joes = await SessionClient.open(gateway.url, { protocol, method, fields: [bearer('good')] });
      await joes.answered();
      assert.equal(joes.status, 101);
      for (const what of ['exec', 'attach', 'portforward', 'proxy/x']) {
        using vics = await SessionClient.open(gateway.url, {
          protocol,
          method,
          path: `${pods}/p/${what}`,
          fields: [bearer('t-viewer')],
        });
        await vics.gone();
        assert.equal(vics.status, 403, what);
        assert.match(statusIn(vics.body).message, /User "vic" cannot create resource "pods\//);
      }
    }
    assert.equal(server.accepted, 2);
  });

  test(`${protocol}: what is authorised is what is sent, byte for byte; what could mean two things is refused`, async (t) => {
    const { gateway, server } = await open(t);
    const path = `/api/v1/namespaces/web/pods/p%C3%A4/exec?command=a%2Fb&command=/../%2e&stdin=true&x=%zz&x`;
    using client = await SessionClient.open(gateway.url, {
      protocol,
      path: `/clusters/alpha${path}`,
      fields: [bearer('good')],
    });
    await client.answered();
    const method = protocol === 'websocket' ? 'GET' : 'POST';
    assert.equal((await server.head()).requestLine, `${method} ${path} HTTP/1.1`);
    for (const bad of ['/x/../exec', '/p%2Fexec', '/p/./exec', '//p/exec', '/p/%2e%2e/exec', '/p/exec#x']) {
      using refused = await SessionClient.open(gateway.url, {
        protocol,
        path: `${pods}${bad}`,
        fields: [bearer('good')],
      });
      await refused.gone();
      assert.equal(refused.status, 400, bad);
    }
    assert.equal(server.accepted, 1);
  });
}

test('a watch over a WebSocket is a watch: it takes the right to it, and its events are relayed', async (t) => {
  const { gateway, server } = await open(t, { authorization: rules });
  const request = { protocol: 'websocket', path: `${pods}?watch=1` } as const;
  using lister = await SessionClient.open(gateway.url, { ...request, fields: [bearer('t-lister')] });
  await lister.gone();
  assert.equal(lister.status, 403);
  assert.match(statusIn(lister.body).message, /User "lis" cannot watch resource "pods"/);
  assert.equal(server.accepted, 0);
  using client = await SessionClient.open(gateway.url, { ...request, fields: [bearer('good')] });
  await client.answered();
  assert.equal(client.status, 101);
  const connection = await server.head();
  const event = '\x81\x05event';
  await connection.write(event);
  await client.until(() => client.body === event);
});

test('a page of another site gets no session by the certificate of its visitor, and one of this site does', async (t) => {
  const { gateway, server } = await open(t);
  const certificate = await callersAuthority.issue({ commonName: 'joe', usage: 'client' });
  const credentials = { cert: certificate.certPem, key: certificate.keyPem };
  const { host } = new URL(gateway.url);
  for (const [origin, status] of [
    ['https://evil.example', 403],
    ['null', 403],
    [`https://${host}`, 101],
  ] as const) {
    using client = await SessionClient.open(gateway.url, {
      protocol: 'websocket',
      fields: [`Origin: ${origin}`],
      credentials,
    });
    await client.answered();
    assert.equal(client.status, status, origin);
  }
  assert.equal(server.accepted, 1);
});

test('over HTTP/2 the same holds: who calls, what for, and whose fields they are', async (t) => {
  const { gateway, server } = await open(t, { authorization: rules });
  await using clients = new FrontClients(gateway.url, 'HTTP/2');
  const session = async (fields: Record<string, string | string[]>, path = execPath) => {
    const client = await clients.openHttp2({ path, fields });
    await client.answered();
    return client;
  };
  for (const [fields, status] of [
    [{}, 401],
    [{ authorization: 'Bearer t-viewer' }, 403],
    [{ authorization: 'Bearer good', 'impersonate-user': 'root' }, 403],
    [{ authorization: 'Bearer good', impersonate_group: 'system:masters' }, 403],
  ] as const) {
    const client = await session(fields);
    assert.equal(client.status, status);
    await client.gone();
  }
  assert.equal(server.accepted, 0);
  await session({ authorization: 'Bearer good', 'x-remote-user': 'root', x_remote_group: 'system:masters' });
  await session({ authorization: 'Bearer good' }, `${pods}?watch=1`);
  assert.equal(server.accepted, 2);
  for (const connection of server.connections) assert.deepEqual(identityOf(connection), joe);
});
