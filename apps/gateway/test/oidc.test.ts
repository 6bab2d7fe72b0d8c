import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import fc from 'fast-check';
import { createLogger } from '@roundhouse/process';
import { TlsMaterial, TransportPool } from '@roundhouse/transport';
import { IssuerKeys } from '../src/authentication/oidc/issuer-keys.ts';
import { oidcOptionsSchema } from '../src/authentication/oidc/oidc-options.ts';
import { OidcTokens } from '../src/authentication/oidc/oidc-tokens.ts';
import { VerifiedTokens } from '../src/authentication/oidc/verified-tokens.ts';
import { GatewayError } from '../src/index.ts';
import type { GatewayOptionsInput } from '../src/index.ts';
import { ask, statusIn } from './support/clients.ts';
import { authority, openRig, written } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';
import { OidcIssuer, newKey } from './support/oidc-issuer.ts';

const path = '/clusters/alpha/version';
const other = await newKey('k2');
const rsa = await newKey('k3', 'RS256');

type OidcInput = NonNullable<GatewayOptionsInput['oidc']>;

/** A gateway whose callers come by tokens of the issuer, ready when it has the keys. */
async function openOidcRig(t: TestContext, issuer: OidcIssuer, oidc: Partial<OidcInput> = {}): Promise<Rig> {
  const rig = await openRig(t, {
    tokens: ['opaque,joe,,'],
    oidc: {
      issuer: issuer.url,
      audiences: ['roundhouse', 'second'],
      caFile: await written(await folderFor(t), 'ca.pem', authority.certificatePem),
      usernamePrefix: 'oidc:',
      groupsClaim: 'groups',
      groupsPrefix: 'oidc:',
      algorithms: ['ES256', 'RS256'],
      ...oidc,
    },
  });
  return rig;
}

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'roundhouse-oidc-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openIssuer(t: TestContext): Promise<OidcIssuer> {
  const issuer = await OidcIssuer.listen();
  t.after(() => issuer[Symbol.asyncDispose]());
  return issuer;
}

const as = ({ gateway }: Rig, token: string) =>
  ask(gateway.url, path, { fields: ['Authorization', `Bearer ${token}`] });

test('a token of the issuer is a caller, with prefixes, groups and extras as fields of their own', async (t) => {
  const issuer = await openIssuer(t);
  const rig = await openOidcRig(t, issuer, { extraClaims: { 'example.com/team': 'team' } });
  await rig.waitForLog(({ msg }) => msg === 'issuer keys read');
  const token = await issuer.token({
    claims: { groups: ['dev', 'ops'], team: ['a', 'b'], aud: ['x', 'second'] },
  });
  assert.equal((await as(rig, token)).status, 200);
  const [request] = rig.upstream.requests;
  assert.deepEqual(request?.headerValues('impersonate-user'), ['oidc:jane']);
  assert.deepEqual(request?.headerValues('impersonate-group'), ['oidc:dev', 'oidc:ops']);
  assert.deepEqual(request?.headerValues('impersonate-extra-example.com%2fteam'), ['a', 'b']);
  assert.deepEqual(request?.headerValues('authorization'), ['Bearer gateway-token']);
  // The token file goes on beside it, and what is neither is unknown.
  assert.equal((await as(rig, 'opaque')).status, 200);
  assert.equal((await as(rig, 'neither')).status, 401);
  assert.equal((await as(rig, await issuer.token({ claims: { groups: 'solo' } }))).status, 200);
  assert.deepEqual(rig.upstream.requests[2]?.headerValues('impersonate-group'), ['oidc:solo']);
  assert.doesNotMatch(JSON.stringify(rig.log), new RegExp(token.slice(-20)));
  assert.equal(issuer.server.accepted, 1, 'over one connection of our own');
});

test('what is not good in a token is a 401 that says so, and the cluster hears nothing', async (t) => {
  const issuer = await openIssuer(t);
  const rig = await openOidcRig(t, issuer, { requiredClaims: { tenant: 'one' }, clockSkewMs: 1_000 });
  await rig.waitForLog(({ msg }) => msg === 'issuer keys read');
  const now = Math.floor(Date.now() / 1000);
  const good = { tenant: 'one' };
  assert.equal((await as(rig, await issuer.token({ claims: good }))).status, 200);
  const { length } = rig.upstream.requests;
  const token = (claims: Record<string, unknown>, header = {}) =>
    issuer.token({ claims: { ...good, ...claims }, header });
  const [head = '', body = '', signature = ''] = (await token({})).split('.');
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const withSecret = (secret: string): string => {
    const text = `${encode({ alg: 'HS256', kid: 'k1' })}.${body}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  for (const [bad, words] of [
    [await token({ exp: now - 5 }), /expired/],
    [await token({ exp: undefined }), /claim "exp"/],
    [await token({ exp: 'tomorrow' }), /claim "exp"/],
    [await token({ nbf: now + 60 }), /not valid yet/],
    [await token({ aud: 'somebody' }), /claim "aud"/],
    [await token({ aud: undefined }), /claim "aud"/],
    [await token({ tenant: 'two' }), /claim "tenant"/],
    [await token({ tenant: undefined }), /claim "tenant"/],
    [await token({ sub: undefined }), /claim "sub"/],
    [await token({ sub: 5 }), /claim "sub"/],
    [await token({ groups: [5] }), /claim "groups"/],
    [await token({ groups: { a: 1 } }), /claim "groups"/],
    [await issuer.token({ claims: good, key: { ...other, id: 'k1' } }), /signature/],
    [await issuer.token({ claims: good, key: other }), /no such key/],
    [`${head}.${body}.${signature.slice(0, -4)}AAAA`, /signature/],
    [
      `${head}.${encode({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: 'root' })}.${signature}`,
      /signature/,
    ],
    [`${encode({ alg: 'none' })}.${body}.`, /algorithm|valid JWT/],
    [`${encode({ alg: 'None', kid: 'k1' })}.${body}.${signature}`, /algorithm/],
    [withSecret(JSON.stringify(issuer.keys[0])), /algorithm/],
    [`${encode({ alg: 'ES256', kid: 'k1', crit: ['x'], x: 1 })}.${body}.${signature}`, /valid JWT/],
    [await token({ iss: 'https://elsewhere.example.com' }), /not known here/],
    [`${head}.${body}`, /not known here|valid JWT/],
    [`${head}.${body}.${signature}.${signature}.x`, /not known here|valid JWT/],
    [body, /not known here/],
  ] as const) {
    const { status, body: text } = await as(rig, bad);
    assert.equal(status, 401, `${String(words)} ${text}`);
    assert.match(statusIn(text).message, words);
  }
  assert.equal(rig.upstream.requests.length, length);
});

test("names of the system are not an issuer's to give, and an address is only a name when it is verified", async (t) => {
  const issuer = await openIssuer(t);
  const plain = await openOidcRig(t, issuer, { usernamePrefix: '-', groupsPrefix: '' });
  await plain.waitForLog(({ msg }) => msg === 'issuer keys read');
  for (const claims of [{ sub: 'system:admin' }, { groups: ['dev', 'system:masters'] }]) {
    assert.equal((await as(plain, await issuer.token({ claims }))).status, 401);
  }
  assert.equal((await as(plain, await issuer.token())).status, 200);
  assert.deepEqual(plain.upstream.requests[0]?.headerValues('impersonate-user'), ['jane']);

  const byAddress = await openOidcRig(t, issuer, {
    usernameClaim: 'email',
    usernamePrefix: undefined as never,
  });
  await byAddress.waitForLog(({ msg }) => msg === 'issuer keys read');
  for (const [claims, status] of [
    [{ email: 'j@example.com' }, 200],
    [{ email: 'j@example.com', email_verified: true }, 200],
    [{ email: 'j@example.com', email_verified: false }, 401],
    [{ email: 'j@example.com', email_verified: 'true' }, 401],
    [{}, 401],
  ] as const) {
    assert.equal(
      (await as(byAddress, await issuer.token({ claims }))).status,
      status,
      JSON.stringify(claims),
    );
  }
  assert.deepEqual(byAddress.upstream.requests[0]?.headerValues('impersonate-user'), ['j@example.com']);
});

test('BB-20: an issuer that is down at the start: the gateway serves, its tokens get a 503, and readiness says so', async (t) => {
  const issuer = await openIssuer(t);
  issuer.status = 500;
  const rig = await openOidcRig(t, issuer);
  await rig.waitForLog(({ msg }) => msg === 'no keys of the issuer');
  const refused = await as(rig, await issuer.token());
  assert.equal(refused.status, 503);
  assert.equal(statusIn(refused.body).error, 'ERR_RH_ISSUER_UNREACHABLE');
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal((await as(rig, 'opaque')).status, 200);
  const { status, body } = await ask(rig.gateway.adminUrl, '/readyz?verbose');
  assert.equal(status, 500);
  assert.match(body, /\[-\]oidc failed/);
  issuer.status = 200;
  await rig.waitForLog(({ msg }) => msg === 'issuer keys read');
  assert.equal((await as(rig, await issuer.token())).status, 200);
  assert.equal((await ask(rig.gateway.adminUrl, '/readyz')).status, 200);
});

/** The tokens' part alone, with times that a test can wait for. */
async function openTokens(
  t: TestContext,
  issuer: OidcIssuer,
  times: { intervalMs?: number; minGapMs?: number },
) {
  const pool = new TransportPool();
  t.after(() => pool.close({ timeoutMs: 0 }));
  const verified = new VerifiedTokens(3);
  const first = Promise.withResolvers<void>();
  const keys = IssuerKeys.open({
    issuer: issuer.url,
    pool,
    material: () => TlsMaterial.fromPem({ ca: authority.certificatePem }),
    log: createLogger({ level: 'silent' }),
    onChange: () => {
      verified.clear();
      first.resolve();
    },
    retryMs: 20,
    ...times,
  });
  t.after(() => keys[Symbol.asyncDispose]());
  const { issuer: url, ...rules } = oidcOptionsSchema.parse({
    issuer: issuer.url,
    audiences: ['roundhouse'],
    algorithms: ['ES256', 'RS256'],
  });
  const tokens = new OidcTokens(
    { ...rules, issuer: url, usernamePrefix: '', groupsClaim: undefined },
    keys,
    verified,
  );
  await first.promise;
  return { tokens, keys, verified };
}

const isRefused = (error: unknown) =>
  error instanceof GatewayError && error.code === 'ERR_RH_UNAUTHENTICATED';

test('a key that is not known is looked for once, by all who wait together, and not again before its time', async (t) => {
  const issuer = await openIssuer(t);
  const { tokens } = await openTokens(t, issuer, { minGapMs: 0 });
  issuer.keys = [other.jwk];
  const fresh = await issuer.token({ key: other });
  const callers = await Promise.all(Array.from({ length: 20 }, async () => await tokens.callerOf(fresh)));
  assert.ok(callers.every((caller) => caller?.user === 'jane'));
  assert.equal(issuer.keyReads, 2);

  const limited = await openTokens(t, issuer, { minGapMs: 60_000 });
  const reads = issuer.keyReads;
  for (let count = 0; count < 5; count += 1) {
    await assert.rejects(
      async () => await limited.tokens.callerOf(await issuer.token({ key: rsa })),
      isRefused,
    );
  }
  assert.equal(issuer.keyReads, reads, 'whoever writes key ids does not make us ask');
});

test('a key that the issuer takes back is refused after the next reading, known tokens too', async (t) => {
  const issuer = await openIssuer(t);
  const { tokens, verified } = await openTokens(t, issuer, { intervalMs: 50 });
  const old = await issuer.token();
  assert.equal((await tokens.callerOf(old))?.user, 'jane');
  assert.equal(verified.size, 1);
  issuer.keys = [other.jwk];
  await issuer.server.waitForRequests(issuer.server.requests.length + 4);
  await assert.rejects(async () => await tokens.callerOf(old), isRefused);
});

test('a reading that fails or is no key set leaves the last good keys in use', async (t) => {
  const issuer = await openIssuer(t);
  const { tokens, keys } = await openTokens(t, issuer, { intervalMs: 20 });
  const good = [...issuer.keys];
  for (const spoil of [
    () => (issuer.status = 500),
    () => (issuer.keys = []),
    () => (issuer.keys = [{ kty: 'oct', k: 'c2VjcmV0', kid: 'k1' }]),
    () => (issuer.discovery = { issuer: 'https://elsewhere.example.com' }),
    () => (issuer.discovery = { jwks_uri: issuer.url.replace('https', 'http') }),
    () => (issuer.discovery = { jwks_uri: 5 }),
  ]) {
    spoil();
    while (keys.error === undefined) await issuer.server.waitForRequests(issuer.server.requests.length + 1);
    assert.equal((await tokens.callerOf(await issuer.token()))?.user, 'jane');
    Object.assign(issuer, { status: 200, keys: good, discovery: {} });
    while (keys.error !== undefined) await issuer.server.waitForRequests(issuer.server.requests.length + 1);
  }
});

test('BB-20: a verified token is remembered until it expires and no longer; so many, and not more', async (t) => {
  const issuer = await openIssuer(t);
  const { tokens, verified } = await openTokens(t, issuer, {});
  const now = Date.now();
  const token = await issuer.token();
  const caller = await tokens.callerOf(token);
  assert.equal(tokens.callerOf(token), caller, 'no second look at the signature');
  t.mock.timers.enable({ apis: ['Date'], now: now + 311_000 });
  await assert.rejects(async () => await tokens.callerOf(token), isRefused);
  t.mock.timers.reset();
  for (const sub of ['a', 'b', 'c', 'd']) await tokens.callerOf(await issuer.token({ claims: { sub } }));
  assert.equal(verified.size, 3);
});

test('a token that names no key is tried with each that could be meant', async (t) => {
  const issuer = await openIssuer(t);
  issuer.keys = [other.jwk, ...issuer.keys, rsa.jwk].map((jwk) => {
    const { kid, ...nameless } = jwk;
    assert.ok(kid !== undefined);
    return nameless;
  });
  const { tokens } = await openTokens(t, issuer, {});
  for (const key of [undefined, other, rsa]) {
    const token = await issuer.token({ header: { kid: undefined }, ...(key !== undefined && { key }) });
    assert.equal((await tokens.callerOf(token))?.user, 'jane');
  }
});

test('fuzz: whatever stands where a token should, it is nobody or refused, and never somebody', async (t) => {
  const issuer = await openIssuer(t);
  const { tokens } = await openTokens(t, issuer, { minGapMs: 60_000 });
  const good = await issuer.token();
  const part = fc.oneof(
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc.base64String(),
    fc.string(),
    fc.constantFrom(...good.split('.')),
  );
  const broken = fc
    .tuple(fc.nat(good.length - 1), fc.constantFrom('A', 'B', '.', '-', '=', ''))
    .map(([at, character]) => good.slice(0, at) + character + good.slice(at + 1));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.array(part, { maxLength: 5 }).map((parts) => parts.join('.')),
        broken,
      ),
      async (text) => {
        // The last character of a signature has bits that mean nothing.
        fc.pre(text !== good && text.slice(0, -1) !== good.slice(0, -1));
        try {
          assert.equal(await tokens.callerOf(text), undefined);
        } catch (error) {
          assert.ok(isRefused(error), String(error));
        }
      },
    ),
    { seed: 20_261_201, numRuns: 500 },
  );
});
