/** TLS material from bytes: what is taken, what is refused, and that a refusal gives nothing away. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { CertificateAuthority } from '@roundhouse/simulators';
import fc from 'fast-check';
import { RoundhouseError, TlsMaterial } from '@roundhouse/transport';
import type { PemMaterial } from '@roundhouse/transport';

describe('TLS material', () => {
  let authority: CertificateAuthority;
  let client: { certPem: string; keyPem: string };
  let stranger: { certPem: string; keyPem: string };

  before(async () => {
    authority = await CertificateAuthority.create();
    client = await authority.issue({ commonName: 'client', usage: 'client' });
    stranger = await authority.issue({ commonName: 'stranger', usage: 'client' });
  });

  const refuses = (pem: PemMaterial, message: RegExp): void => {
    assert.throws(
      () => TlsMaterial.fromPem(pem),
      (error: unknown) =>
        RoundhouseError.is(error) && error.code === 'ERR_RH_MATERIAL_INVALID' && message.test(error.message),
    );
  };

  test('knows when its certificates end', () => {
    const material = TlsMaterial.fromPem({
      ca: authority.certificatePem,
      cert: client.certPem,
      key: client.keyPem,
    });
    assert.ok(material.certExpiresAt!.getTime() > Date.now());
    assert.ok(material.caExpiresAt!.getTime() >= material.certExpiresAt!.getTime());
  });

  test('takes a certificate and a key that lie in one file', () => {
    const both = client.certPem + client.keyPem;
    assert.ok(
      TlsMaterial.fromPem({ cert: both, key: both }).equals(
        TlsMaterial.fromPem({ cert: client.certPem, key: client.keyPem }),
      ),
    );
  });

  test('takes keys in PKCS#1 and SEC1 form, too', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    refuses({ cert: client.certPem, key: pem }, /does not belong/);
  });

  test('of a key that belongs to another certificate is refused', () => {
    refuses({ cert: client.certPem, key: stranger.keyPem }, /does not belong/);
  });

  test('of half a pair is refused', () => {
    refuses({ cert: client.certPem }, /no key/);
    refuses({ key: client.keyPem }, /no certificate/);
  });

  test('that is empty, cut off, or no PEM is refused, and never means the system roots', () => {
    refuses({ ca: '' }, /CA bundle holds no complete/);
    refuses({ ca: new Uint8Array(0) }, /CA bundle holds no complete/);
    refuses({ ca: 'not a certificate' }, /CA bundle holds no complete/);
    refuses({ ca: client.keyPem }, /CA bundle holds no complete/);
    refuses({ ca: authority.certificatePem.slice(0, 300) }, /CA bundle/);
    refuses({ ca: authority.certificatePem + authority.certificatePem.slice(0, 300) }, /incomplete/);
    refuses(
      { ca: authority.certificatePem.replace(/\n[A-Za-z0-9+/]{20}/, '\nAAAAAAAAAAAAAAAAAAAA') },
      /cannot be parsed/,
    );
    refuses({ ca: 'x'.repeat(5 * 1_048_576) }, /larger than/);
    refuses({ cert: client.certPem, key: '' }, /not an unencrypted private key/);
    refuses({ cert: client.certPem, key: client.keyPem.slice(0, 80) }, /not an unencrypted private key/);
  });

  test('that is encrypted is refused', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'secret',
    });
    refuses({ cert: client.certPem, key: pem.toString() }, /unencrypted/);
  });

  test('cut at any byte is refused or is the same certificate, and no message quotes the key', () => {
    const secret = client.keyPem.split('\n')[1]!.slice(0, 24);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: client.keyPem.length }),
        fc.integer({ min: 0, max: client.certPem.length }),
        (key, cert) => {
          try {
            const material = TlsMaterial.fromPem({
              cert: client.certPem.slice(0, cert),
              key: client.keyPem.slice(0, key),
            });
            assert.equal(
              material.certDigest,
              TlsMaterial.fromPem({ cert: client.certPem, key: client.keyPem }).certDigest,
            );
          } catch (error) {
            assert.ok(RoundhouseError.is(error), String(error));
            assert.equal(error.code, 'ERR_RH_MATERIAL_INVALID');
            assert.ok(!error.message.includes(secret));
          }
        },
      ),
      { seed: 7, numRuns: 300 },
    );
  });
});
