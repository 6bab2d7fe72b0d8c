import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenFile } from '../src/authentication/token-file.ts';
import { ask, codeOf, sendRawGet, statusIn } from './support/clients.ts';
import { authority, callersAuthority, openRig } from './support/gateway-rig.ts';

test('without a good certificate or token the answer is a 401 Status, and the cluster hears nothing', async (t) => {
  const { gateway, upstream } = await openRig(t, { tls: true, tokens: ['good,joe,,'] });
  const stranger = await authority.issue({ commonName: 'jane', usage: 'client' });
  const serverOnly = await callersAuthority.issue({ commonName: 'jane', usage: 'server' });
  const expired = await callersAuthority.issue({
    commonName: 'jane',
    usage: 'client',
    notBefore: new Date(Date.now() - 7_200_000),
    notAfter: new Date(Date.now() - 3_600_000),
  });
  const nameless = await callersAuthority.issue({ commonName: '', usage: 'client' });
  for (const { certPem: cert, keyPem: key } of [stranger, serverOnly, expired, nameless]) {
    // A bad certificate is not made good by a good token: whoever shows it claims to be somebody.
    const fields = ['Authorization', 'Bearer good'];
    assert.equal((await ask(gateway.url, '/clusters/alpha/version', { cert, key, fields })).status, 401);
  }
  for (const authorization of [
    undefined,
    'Bearer bad',
    'Bearer good ful',
    'Bearer',
    'Basic Z29vZDpnb29k',
    'good',
    'Bearer good\u0001'.slice(0, -1).concat('x'),
  ]) {
    const fields = authorization === undefined ? [] : ['Authorization', authorization];
    const { status, body, headers } = await ask(gateway.url, '/clusters/alpha/version', { fields });
    assert.equal(status, 401, authorization);
    assert.equal(statusIn(body).reason, 'Unauthorized');
    assert.match(headers['www-authenticate'] ?? '', /^Bearer/);
  }
  assert.equal(upstream.accepted, 0);
  assert.equal(
    (await ask(gateway.url, '/clusters/alpha/version', { fields: ['authorization', 'bearer good'] })).status,
    200,
  );
});

test('who is unknown does not learn which clusters there are', async (t) => {
  const { gateway } = await openRig(t, { tokens: ['good,joe,,'] });
  for (const path of ['/clusters/alpha/version', '/clusters/nope/version', '/nope', '/clusters/alpha/../x']) {
    assert.equal((await ask(gateway.url, path)).status, 401, path);
  }
});

test('two Authorization fields, two Host fields and none are refused', async (t) => {
  const { gateway } = await openRig(t, { tokens: ['good,joe,,'] });
  const path = '/clusters/alpha/version';
  const { host } = new URL(gateway.url);
  const close = 'Connection: close';
  const good = 'Authorization: Bearer good';
  assert.equal(codeOf(await sendRawGet(gateway.url, path, good, 'Authorization: Bearer x', close)), 400);
  assert.equal(codeOf(await sendRawGet(gateway.url, path, good, `Host: ${host}`, close)), 400);
  assert.equal(codeOf(await sendRawGet(gateway.url, path, good, close)), 200);
});

test('a token file is read by the rules of the kube-apiserver', () => {
  const file = TokenFile.parse('a,joe,1,"dev,ops"\r\nb,"ann ""x""",,\n\n"c",kim,3,solo\nd,bo,4');
  assert.deepEqual(file.callerOf('a'), { method: 'token', user: 'joe', uid: '1', groups: ['dev', 'ops'] });
  assert.deepEqual(file.callerOf('b'), { method: 'token', user: 'ann "x"', uid: undefined, groups: [] });
  assert.deepEqual(file.callerOf('c')?.groups, ['solo']);
  assert.deepEqual(file.callerOf('d')?.groups, []);
  assert.equal(file.callerOf(''), undefined);
  assert.equal(file.callerOf('A'), undefined);
});

test('a token file that is wrong is refused with the line, and no token is in the message', () => {
  for (const [text, message] of [
    ['', /no tokens/],
    ['planted,joe', /line 1: not of the form/],
    ['a,b,c\nplanted,,2', /line 2: the user is empty/],
    ['a,b,c\n,joe,2', /line 2: the token is empty/],
    ['planted,joe,1\nplanted,ann,2', /line 2: the token is there a second time/],
    ['planted,"joe,1', /line 1: a quote that is not closed/],
    ['planted,"joe"x,1', /line 1: something between/],
    ['planted,jo"e,1', /line 1: a quote inside/],
    ['pla nted,joe,1', /line 1: the token is empty or has characters/],
    ['planted,joe,1,a,b', /not of the form/],
  ] as const) {
    assert.throws(
      () => TokenFile.parse(text),
      (error) => error instanceof Error && message.test(error.message) && !/planted/.test(error.message),
      text,
    );
  }
});
