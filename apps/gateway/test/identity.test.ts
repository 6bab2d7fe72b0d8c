import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordedRequest } from '@roundhouse/simulators';
import { ask, askHttp2, codeOf, dialHttp2, sendRawGet, statusIn } from './support/clients.ts';
import { sendRawHttp2 } from './support/raw-http2.ts';
import { adminCertificate, base64, callersAuthority, contextFor, openRig } from './support/gateway-rig.ts';

const jane = await callersAuthority.issue({
  commonName: 'jane',
  organizations: ['dev', 'ops'],
  usage: 'client',
});
const janesKey = { cert: jane.certPem, key: jane.keyPem };
const tokens = ['secret-of-joe,joe,uid-7,"dev,team a"', 'secret-of-ann,ann,,'];

/** What the cluster was told of the caller. */
function identityOf(request: RecordedRequest | undefined): Record<string, readonly string[]> {
  const names = ['authorization', 'impersonate-user', 'impersonate-uid', 'impersonate-group'];
  return Object.fromEntries(names.map((name) => [name, request?.headerValues(name) ?? []]));
}

const janesIdentity = {
  authorization: ['Bearer gateway-token'],
  'impersonate-user': ['jane'],
  'impersonate-uid': [],
  'impersonate-group': ['dev', 'ops'],
};

/** Whatever has the look of an identity field, in any spelling. */
function identityNames(request: RecordedRequest | undefined): string[] {
  return (request?.rawHeaders ?? []).filter(
    (name, index) => index % 2 === 0 && /impersonate|x[-_]remote|client[-_]cert/i.test(name),
  );
}

test('a caller with a certificate is impersonated, each group in a field of its own', async (t) => {
  const { gateway, upstream } = await openRig(t, { tls: true });
  assert.equal((await ask(gateway.url, '/clusters/alpha/version', janesKey)).status, 200);
  assert.deepEqual(identityOf(upstream.requests[0]), janesIdentity);
});

test('a caller with a token is impersonated with uid and groups, and the token goes nowhere', async (t) => {
  const { gateway, upstream, log, requestLines } = await openRig(t, { tokens });
  for (const token of ['secret-of-joe', 'secret-of-ann']) {
    await ask(gateway.url, '/clusters/alpha/version', { fields: ['Authorization', `Bearer ${token}`] });
  }
  assert.deepEqual(identityOf(upstream.requests[0]), {
    authorization: ['Bearer gateway-token'],
    'impersonate-user': ['joe'],
    'impersonate-uid': ['uid-7'],
    'impersonate-group': ['dev', 'team a'],
  });
  assert.deepEqual(identityOf(upstream.requests[1]), {
    authorization: ['Bearer gateway-token'],
    'impersonate-user': ['ann'],
    'impersonate-uid': [],
    'impersonate-group': [],
  });
  assert.deepEqual(
    (await requestLines(2)).map((line) => line['user']),
    ['joe', 'ann'],
  );
  assert.doesNotMatch(JSON.stringify(log), /secret-of|gateway-token/);
});

test('a client certificate of the gateway is shown to the cluster', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    contexts: (server) => ({
      alpha: contextFor(server, {
        'client-certificate-data': base64(adminCertificate.certPem),
        'client-key-data': base64(adminCertificate.keyPem),
      }),
    }),
  });
  assert.equal((await ask(gateway.url, '/clusters/alpha/version')).status, 200);
  assert.equal(upstream.connections[0]?.tls?.clientCommonName, 'gateway');
  assert.deepEqual(upstream.requests[0]?.headerValues('authorization'), []);
});

test('passthrough sends the token of the caller and nothing of the gateway, and without one it is a 401', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    identity: 'passthrough',
    contexts: (server) => ({
      alpha: contextFor(server, {
        'client-certificate-data': base64(adminCertificate.certPem),
        'client-key-data': base64(adminCertificate.keyPem),
      }),
    }),
    handle: (exchange) => exchange.respond({ status: 401, body: 'not you' }),
  });
  const answer = await ask(gateway.url, '/clusters/alpha/version', {
    fields: ['Authorization', 'Bearer mine'],
  });
  assert.deepEqual([answer.status, answer.body], [401, 'not you'], "the caller's own 401");
  assert.deepEqual(upstream.requests[0]?.headerValues('authorization'), ['Bearer mine']);
  assert.equal(upstream.connections[0]?.tls?.clientCommonName, undefined);
  assert.equal((await ask(gateway.url, '/clusters/alpha/version')).status, 401);
  assert.equal(upstream.requests.length, 1);
});

test('the identity of a cluster may differ from that of the others', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    tls: true,
    clusterIdentity: { beta: 'gateway' },
    contexts: (server) => ({ alpha: contextFor(server), beta: contextFor(server) }),
  });
  await ask(gateway.url, '/clusters/alpha/version', janesKey);
  await ask(gateway.url, '/clusters/beta/version', janesKey);
  assert.deepEqual(upstream.requests[0]?.headerValues('impersonate-user'), ['jane']);
  assert.deepEqual(upstream.requests[1]?.headerValues('impersonate-user'), []);
});

test("an upstream 401 against the gateway's own credential is a 502 that says so", async (t) => {
  const { gateway } = await openRig(t, {
    handle: (exchange) => exchange.respond({ status: 401, body: 'no' }),
  });
  const answer = await ask(gateway.url, '/clusters/alpha/version');
  assert.equal(answer.status, 502);
  const status = statusIn(answer.body);
  assert.equal(status.error, 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED');
  assert.match(status.message, /gateway's own credential/);
  assert.equal(gateway.clusters[0]?.lastError?.code, 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED');
});

const named = [
  'Impersonate-User',
  'impersonate-group',
  'IMPERSONATE-UID',
  'Impersonate-Extra-Scopes',
  'iMPERSONATE-eXTRA-%2f',
  'Impersonate_User',
  'Authorization',
  'aUTHORIZATION',
  'X-Remote-User',
  'x-remote-group',
  'X-Remote-Extra-Scopes',
  'X_Remote_User',
  'Host',
  'Content-Length',
];
const connectionForms = named.flatMap((name) => [
  [`Connection: ${name}`],
  [`Connection:\t${name}\t`],
  [`connection: ,,${name},Upgrade`],
  [`Connection: close, ,\t${name}\t,, keep-alive`],
  ['Connection: close', `Connection: ${name}`],
  [`Connection: Keep-Alive, TE, ${name}`, 'TE: trailers', `Keep-Alive: ${name}`, `Proxy-Connection: ${name}`],
]);

test('BB-62: what Connection names never takes an identity field away', async (t) => {
  const { gateway, upstream } = await openRig(t, { tokens });
  for (const path of ['/clusters/alpha/version', '/clusters/alpha/api/v1/pods?watch=1']) {
    for (const fields of connectionForms) {
      const raw = await sendRawGet(
        gateway.url,
        path,
        'Authorization: Bearer secret-of-joe',
        ...fields,
        'X-End: 1',
      );
      assert.equal(codeOf(raw), 400, fields.join(' / '));
    }
    for (const fields of [
      ['Connection: close, X-Mine', 'X-Mine: 1'],
      ['Connection: close', 'Keep-Alive: Impersonate-User', 'Proxy-Connection: Impersonate-User'],
      ['Connection: TE, close', 'TE: Impersonate-User', 'Trailer: Impersonate-User'],
      ['Connection: Upgrade, close'],
      ['Connection: Upgrade, close', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'],
    ]) {
      const before = upstream.requests.length;
      const raw = await sendRawGet(gateway.url, path, 'Authorization: Bearer secret-of-joe', ...fields);
      assert.equal(codeOf(raw), 200, fields.join(' / '));
      const request = upstream.requests[before];
      assert.deepEqual(request?.headerValues('impersonate-user'), ['joe']);
      assert.deepEqual(request?.headerValues('impersonate-group'), ['dev', 'team a']);
      for (const name of ['x-mine', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade']) {
        assert.deepEqual(request?.headerValues(name), [], name);
      }
    }
  }
});

test('BB-62: over HTTP/2 there is no such field, and a request that has one goes to no cluster', async (t) => {
  const { gateway, upstream } = await openRig(t, { tls: true });
  const { host } = new URL(gateway.url);
  for (const path of ['/clusters/alpha/version', '/clusters/alpha/api/v1/pods?watch=1']) {
    const head = [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', host],
      [':path', path],
    ] as const;
    for (const field of [
      ...named.map((name) => ['connection', name] as const),
      ['keep-alive', 'Impersonate-User'] as const,
      ['proxy-connection', 'Impersonate-User'] as const,
      ['upgrade', 'Impersonate-User'] as const,
      ['te', 'Impersonate-User'] as const,
      ['Impersonate-User', 'root'] as const,
    ]) {
      const answer = await sendRawHttp2(gateway.url, [...head, field], janesKey);
      assert.ok(answer === 'reset' || answer === 'goaway', `${field.join(': ')}: ${answer}`);
    }
    // The same without it is one that is answered.
    assert.equal(upstream.requests.length, 0);
    assert.equal(await sendRawHttp2(gateway.url, head, janesKey), 'head');
    assert.deepEqual(identityOf(upstream.requests.splice(0)[0]), janesIdentity);
  }
});

test('BB-62: what Connection names never takes the token away that is passed through', async (t) => {
  const { gateway, upstream } = await openRig(t, { identity: 'passthrough' });
  for (const fields of connectionForms) {
    const raw = await sendRawGet(
      gateway.url,
      '/clusters/alpha/version',
      'Authorization: Bearer mine',
      ...fields,
      'X-End: 1',
    );
    assert.equal(codeOf(raw), 400, fields.join(' / '));
  }
  assert.equal(upstream.accepted, 0);
});

const brought = [
  'Impersonate-User',
  'impersonate-user',
  'IMPERSONATE-GROUP',
  'Impersonate-Uid',
  'Impersonate-Extra-Scopes',
  'Impersonate-Extra-%2F',
  'Impersonate-Extra-example.com%2Fteam',
  'impersonate_user',
  'Impersonate_Group',
  'impersonate_extra_scopes',
  'ImPeRsOnAtE-gRoUp',
  'impersonate-anything',
];
const stripped = [
  'X-Remote-User',
  'x-remote-group',
  'X_Remote_User',
  'X-Remote-Uid',
  'X-Remote-Extra-Scopes',
  'x-remote-extra-example.com%2fteam',
  'x_remote_group',
  'X_Remote_Extra_Scopes',
  'x-ReMoTe-UsEr',
  'X-Forwarded-Client-Cert',
  'X-Forwarded-User',
  'X-Client-Cert',
];

test('BB-63: a client that brings Impersonate-* is refused with 403, in every mode, and nothing is sent', async (t) => {
  for (const options of [{ tokens }, { identity: 'passthrough' }, {}] as const) {
    const { gateway, upstream } = await openRig(t, options);
    for (const name of brought) {
      for (const path of ['/clusters/alpha/version', '/clusters/alpha/api/v1/pods?watch=1']) {
        const { status, body } = await ask(gateway.url, path, {
          fields: ['Authorization', 'Bearer secret-of-joe', name, 'root', name, 'system:masters'],
        });
        assert.equal(status, 403, name);
        assert.equal(statusIn(body).error, 'ERR_RH_IDENTITY_FIELD_REFUSED');
      }
    }
    assert.equal(upstream.accepted, 0);
  }
});

test('BB-63: front-proxy fields of a client are left out, and only our identity arrives', async (t) => {
  const { gateway, upstream } = await openRig(t, { tokens });
  for (const path of ['/clusters/alpha/version', '/clusters/alpha/api/v1/pods?watch=1']) {
    const { status } = await ask(gateway.url, path, {
      fields: ['Authorization', 'Bearer secret-of-joe', ...stripped.flatMap((name) => [name, 'root'])],
    });
    assert.equal(status, 200);
    const request = upstream.requests.at(-1);
    assert.deepEqual(identityNames(request), [
      'Impersonate-User',
      'Impersonate-Uid',
      'Impersonate-Group',
      'Impersonate-Group',
    ]);
    assert.deepEqual(request?.headerValues('x-forwarded-user'), []);
  }
});

test('BB-62, BB-63: the same holds over HTTP/2', async (t) => {
  const { gateway, upstream } = await openRig(t, { tls: true });
  await using session = await dialHttp2(gateway.url, janesKey);
  for (const target of ['/clusters/alpha/version', '/clusters/alpha/api/v1/pods?watch=1']) {
    for (const name of brought) {
      const fields = { [name.toLowerCase()]: ['root', 'system:masters'] };
      const { status } = await askHttp2(session, { ':path': target, ...fields });
      assert.equal(status, 403, name);
    }
    const fields = Object.fromEntries(stripped.map((name) => [name.toLowerCase(), ['root', 'other']]));
    const { status } = await askHttp2(session, {
      ':path': target,
      ...fields,
      authorization: 'Bearer something',
      te: 'trailers',
      cookie: ['a=1', 'b=2'],
    });
    assert.equal(status, 200);
    const request = upstream.requests.at(-1);
    assert.deepEqual(identityOf(request), janesIdentity);
    assert.deepEqual(identityNames(request), ['Impersonate-User', 'Impersonate-Group', 'Impersonate-Group']);
    assert.deepEqual(request?.headerValues('te'), []);
    assert.deepEqual(request?.headerValues('cookie'), ['a=1; b=2']);
  }
});

test('a name that a header field cannot carry as it is, is refused and not bent', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    tokens: ['t1,"two\nlines",,', 't2," padded",,', 't3,jos\u00e9,,"gr\u00fcn"'],
  });
  const as = (token: string) =>
    ask(gateway.url, '/clusters/alpha/version', { fields: ['Authorization', `Bearer ${token}`] });
  assert.equal((await as('t1')).status, 401);
  assert.equal((await as('t2')).status, 401);
  assert.equal((await as('t3')).status, 200);
  const [user] = upstream.requests[0]?.headerValues('impersonate-user') ?? [];
  assert.equal(Buffer.from(user ?? '', 'latin1').toString(), 'jos\u00e9');
  assert.equal(upstream.requests.length, 1);
});
