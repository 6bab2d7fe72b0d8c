import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { parseExecCredential } from '../../src/credentials/exec-credential.ts';
import { KubernetesError } from '../../src/index.ts';

const options = fuzzRuns(1_500);
const v1 = 'client.authentication.k8s.io/v1';
const secret = 'planted-secret';

/** Something that can be shown, or our error; and what it says quotes nothing. */
function credentialOrError(output: string | Uint8Array): void {
  try {
    const { authorization, clientPair } = parseExecCredential(Buffer.from(output), v1);
    assert.ok(authorization !== undefined || clientPair !== undefined);
    assert.match(authorization ?? 'Bearer x', /^Bearer [\x21-\x7e]+$/);
  } catch (error) {
    assert.ok(error instanceof KubernetesError, String(error));
    assert.equal(error.code, 'ERR_RH_EXEC_CREDENTIAL_INVALID');
    assert.ok(!error.message.includes(secret), error.message);
  }
}

test('whatever bytes a plugin prints, they are a credential or ERR_RH_EXEC_CREDENTIAL_INVALID', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), credentialOrError), options);
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), credentialOrError), options);
});

test('whatever shape they have, they are a credential or ERR_RH_EXEC_CREDENTIAL_INVALID', () => {
  const leaf = fc.oneof(
    fc.string(),
    fc.constantFrom(secret, `${secret}\n`, '2026-12-07T10:00:00Z', 'a b', '\r\nX: y'),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  const field = fc.constantFrom(
    'token',
    'clientCertificateData',
    'clientKeyData',
    'expirationTimestamp',
    '__proto__',
    'constructor',
  );
  const status = fc.oneof(leaf, fc.array(leaf, { maxLength: 2 }), fc.dictionary(field, leaf, { maxKeys: 4 }));
  const root = fc.record(
    {
      kind: fc.oneof({ weight: 9, arbitrary: fc.constant('ExecCredential') }, leaf),
      apiVersion: fc.oneof({ weight: 9, arbitrary: fc.constant(v1) }, leaf),
      status,
    },
    { requiredKeys: ['kind', 'apiVersion'] },
  );
  fc.assert(
    fc.property(root, (data) => credentialOrError(JSON.stringify(data))),
    options,
  );
});

test('whatever a good answer is changed into, it is a credential or ERR_RH_EXEC_CREDENTIAL_INVALID', () => {
  const good = `apiVersion: ${v1}\nkind: ExecCredential\nstatus:\n  token: ${secret}\n  expirationTimestamp: "2026-12-07T10:00:00Z"\n`;
  const change = fc.record({
    at: fc.nat(good.length),
    remove: fc.nat(10),
    insert: fc.oneof(
      fc.constantFrom('{', '[', ':', '\n', '- ', '&a ', '*a', '"', '|\n', '\t', '#'),
      fc.string({ maxLength: 4 }),
    ),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      let text = good;
      for (const { at, remove, insert } of changes) {
        text = text.slice(0, at) + insert + text.slice(at + remove);
      }
      credentialOrError(text);
    }),
    options,
  );
});
