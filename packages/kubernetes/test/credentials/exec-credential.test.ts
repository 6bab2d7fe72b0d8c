import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificateAuthority, execCredential } from '@roundhouse/simulators';
import { parseExecCredential } from '../../src/credentials/exec-credential.ts';
import { KubernetesError } from '../../src/index.ts';

const v1 = 'client.authentication.k8s.io/v1';
const v1beta1 = 'client.authentication.k8s.io/v1beta1';
const authority = await CertificateAuthority.create();
const client = await authority.issue({ commonName: 'plugin', usage: 'client' });
const other = await authority.issue({ commonName: 'other', usage: 'client' });

function parsed(output: string | Uint8Array, apiVersion: typeof v1 | typeof v1beta1 = v1) {
  return parseExecCredential(Buffer.from(output), apiVersion);
}

function reason(output: string | Uint8Array, apiVersion: typeof v1 | typeof v1beta1 = v1): string {
  try {
    parsed(output, apiVersion);
  } catch (error) {
    assert.ok(error instanceof KubernetesError);
    assert.equal(error.code, 'ERR_RH_EXEC_CREDENTIAL_INVALID');
    return error.message.replace(/^\S+: the output of the credential plugin cannot be used: /, '');
  }
  return assert.fail('it was taken');
}

test('a token with its end is read from JSON and from YAML, in either version', () => {
  const end = '2026-12-07T10:00:00Z';
  for (const apiVersion of [v1, v1beta1] as const) {
    for (const output of [
      execCredential({ token: 'abc', expirationTimestamp: end }, apiVersion),
      `apiVersion: ${apiVersion}\nkind: ExecCredential\nstatus:\n  token: abc\n  expirationTimestamp: "${end}"\n`,
    ]) {
      const found = parsed(output, apiVersion);
      assert.equal(found.authorization, 'Bearer abc');
      assert.equal(found.expiresAt?.toISOString(), '2026-12-07T10:00:00.000Z');
      assert.equal(found.clientPair, undefined);
    }
  }
});

test('a certificate and its key are read, and the credential ends with the certificate when it says nothing earlier', () => {
  const pair = { clientCertificateData: client.certPem, clientKeyData: client.keyPem };
  const found = parsed(execCredential(pair));
  assert.deepEqual(found.clientPair, { cert: client.certPem, key: client.keyPem });
  assert.equal(found.authorization, undefined);
  assert.ok(found.expiresAt !== undefined && found.expiresAt.getTime() > Date.now());
  const earlier = parsed(
    execCredential({ ...pair, token: 'abc', expirationTimestamp: '2020-01-01T00:00:00+01:00' }),
  );
  assert.equal(earlier.expiresAt?.toISOString(), '2019-12-31T23:00:00.000Z');
  const later = parsed(execCredential({ ...pair, expirationTimestamp: '2999-01-01T00:00:00Z' }));
  assert.deepEqual(later.expiresAt, found.expiresAt);
});

test('what is no credential is refused with the reason', () => {
  for (const [output, words] of [
    ['', /^it is empty$/],
    ['  \n', /^it is empty$/],
    [Uint8Array.of(0xff, 0xfe), /^it is not UTF-8 text$/],
    ['{"kind": "ExecCredential", ', /^it is neither JSON nor YAML \(line 1: .*\)$/],
    ['a: [b', /^it is neither JSON nor YAML/],
    ['[]', /^it is not a mapping$/],
    ['please log in', /^it is not a mapping$/],
    ['{}', /^its kind is not ExecCredential$/],
    [
      execCredential({ token: 'abc' }, v1beta1),
      /asked for apiVersion client.*\/v1 and answered with client.*\/v1beta1$/,
    ],
    ['{"kind":"ExecCredential","apiVersion":"planted-secret"}', /and answered with another one$/],
    [`{"kind":"ExecCredential","apiVersion":"${v1}"}`, /^it has no status$/],
    [`{"kind":"ExecCredential","apiVersion":"${v1}","status":[]}`, /^its status is not a mapping$/],
    [execCredential({}), /^it has neither a token nor a client certificate$/],
    [execCredential({ token: '' }), /^it has neither/],
    [execCredential({ token: 5 }), /^its token is not text$/],
    [execCredential({ token: 'two\r\nImpersonate-User: root' }), /^its token has characters/],
    [execCredential({ clientCertificateData: client.certPem }), /^it has a client certificate and no key$/],
    [execCredential({ clientKeyData: client.keyPem }), /^it has a client key and no certificate$/],
    [
      execCredential({ clientCertificateData: client.certPem, clientKeyData: other.keyPem }),
      /does not belong to the client certificate$/,
    ],
    [
      execCredential({ clientCertificateData: 'x', clientKeyData: client.keyPem }),
      /no complete PEM certificate$/,
    ],
    [
      execCredential({ token: 'abc', expirationTimestamp: 'tomorrow' }),
      /^its expirationTimestamp is not a time/,
    ],
    [
      execCredential({ token: 'abc', expirationTimestamp: '2026-13-01T00:00:00Z' }),
      /^its expirationTimestamp/,
    ],
    [
      execCredential({ token: 'abc', expirationTimestamp: 1_700_000_000 }),
      /^its expirationTimestamp is not text$/,
    ],
  ] as const) {
    assert.match(reason(output), words);
  }
});

test('no message quotes what the plugin printed', () => {
  const secret = 'planted-secret';
  for (const output of [
    secret,
    `${secret}: [`,
    `"${secret}`,
    `{"kind":"${secret}"}`,
    `{"kind":"ExecCredential","apiVersion":"${secret}"}`,
    execCredential({ token: `${secret} x y` }),
    execCredential({ token: 'abc', expirationTimestamp: secret }),
    execCredential({ clientCertificateData: secret, clientKeyData: secret }),
    `kind: ExecCredential\n${secret}: 1\n${secret}: 2\n`,
  ]) {
    assert.ok(!reason(output).includes(secret), output);
  }
});

test('a credential shows no secret to whoever prints it', async () => {
  const { inspect } = await import('node:util');
  const found = parsed(
    execCredential({
      token: 'planted-secret',
      clientCertificateData: client.certPem,
      clientKeyData: client.keyPem,
    }),
  );
  for (const text of [inspect(found, { depth: 9, showHidden: true }), JSON.stringify(found), String(found)]) {
    assert.ok(!text.includes('planted-secret') && !text.includes('PRIVATE KEY'), text);
  }
});
