/** The key of an endpoint: everything that changes whom we trust or who we are, by content, and nothing else. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CertificateAuthority } from '@roundhouse/simulators';
import fc from 'fast-check';
import { Endpoint, TlsMaterial, directDialer } from '@roundhouse/transport';
import type { EndpointOptions } from '@roundhouse/transport';

describe('the key of an endpoint', () => {
  let authority: CertificateAuthority;
  let other: CertificateAuthority;
  let first: { certPem: string; keyPem: string };
  let second: { certPem: string; keyPem: string };

  before(async () => {
    authority = await CertificateAuthority.create({ name: 'one' });
    other = await CertificateAuthority.create({ name: 'two' });
    first = await authority.issue({ commonName: 'first', usage: 'client' });
    second = await authority.issue({ commonName: 'second', usage: 'client' });
  });

  const material = (ca: CertificateAuthority, client = first): TlsMaterial =>
    TlsMaterial.fromPem({ ca: ca.certificatePem, cert: client.certPem, key: client.keyPem });

  test('BB-12, G2: differs when any single option differs, for each option there is', () => {
    const base: Required<EndpointOptions> = {
      url: 'https://cluster.example:6443',
      serverName: 'kubernetes',
      material: material(authority),
      insecure: false,
      alpn: 'auto',
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.3',
      ciphers: 'HIGH',
      allowPartialTrustChain: false,
      dialer: directDialer,
    };
    // `satisfies` makes this list complete: an option that is added without a variant does not compile.
    const variants = {
      url: ['https://cluster.example:6444', 'https://other.example:6443', 'https://cluster.example'],
      serverName: ['kubernetes.default', 'kubernete'],
      material: [
        material(other),
        material(authority, second),
        TlsMaterial.fromPem({ ca: authority.certificatePem }),
        TlsMaterial.fromPem({ cert: first.certPem, key: first.keyPem }),
        TlsMaterial.none,
      ],
      insecure: [true],
      alpn: ['http/1.1', 'h2'],
      minVersion: ['TLSv1.3'],
      maxVersion: ['TLSv1.2'],
      ciphers: ['HIGH:!aNULL'],
      allowPartialTrustChain: [true],
      dialer: [{ id: 'tunnel', dial: directDialer.dial }],
    } as const satisfies { [Option in keyof EndpointOptions]-?: readonly EndpointOptions[Option][] };
    const keys = new Set([Endpoint.from(base).key]);
    let expected = 1;
    for (const [option, values] of Object.entries(variants)) {
      for (const value of values) {
        keys.add(Endpoint.from({ ...base, [option]: value }).key);
        expected += 1;
        assert.equal(keys.size, expected, `${option} does not tell endpoints apart`);
      }
    }
  });

  test('G17: is equal for equal content, however it is spelled', () => {
    const ca = authority.certificatePem;
    const spellings: EndpointOptions[] = [
      {
        url: 'https://cluster.example:443',
        material: TlsMaterial.fromPem({ ca: ca + other.certificatePem }),
      },
      { url: 'https://CLUSTER.Example/', material: TlsMaterial.fromPem({ ca: ca + other.certificatePem }) },
      {
        url: new URL('https://cluster.example.'),
        material: TlsMaterial.fromPem({ ca: ca + other.certificatePem }),
      },
      { url: 'https://cluster.example', material: TlsMaterial.fromPem({ ca: other.certificatePem + ca }) },
      {
        url: 'https://cluster.example',
        material: TlsMaterial.fromPem({ ca: `${ca}${other.certificatePem}${ca}` }),
      },
      {
        url: 'https://cluster.example',
        serverName: 'Cluster.Example',
        insecure: false,
        material: TlsMaterial.fromPem({
          ca: Buffer.from(`# roots\r\n${ca}\n\n${other.certificatePem}\n`.replaceAll('\n', '\r\n')),
        }),
      },
    ];
    assert.equal(new Set(spellings.map((options) => Endpoint.from(options).key)).size, 1);
  });

  test('BB-04: is equal when the same material is delivered again with a trailing newline', () => {
    const again = TlsMaterial.fromPem({
      ca: `${authority.certificatePem}\n`,
      cert: `${first.certPem}\n`,
      key: `\n${first.keyPem}\n\n`,
    });
    assert.equal(
      Endpoint.from({ url: 'https://a', material: again }).key,
      Endpoint.from({ url: 'https://a', material: material(authority) }).key,
    );
    assert.ok(again.equals(material(authority)));
  });

  test('runs no two fields together: what moves from one field to the next is another endpoint', () => {
    fc.assert(
      fc.property(
        fc.tuple(fc.stringMatching(/^[a-z0-9;:()-]{1,12}$/), fc.stringMatching(/^[a-z0-9;:()-]{1,12}$/)),
        fc.tuple(fc.stringMatching(/^[a-z0-9;:()-]{1,12}$/), fc.stringMatching(/^[a-z0-9;:()-]{1,12}$/)),
        ([serverName, id], [otherName, otherId]) => {
          const a = Endpoint.from({ url: 'https://a', serverName, dialer: { id, dial: directDialer.dial } });
          const b = Endpoint.from({
            url: 'https://a',
            serverName: otherName,
            dialer: { id: otherId, dial: directDialer.dial },
          });
          assert.equal(a.key === b.key, a.serverName === b.serverName && id === otherId);
        },
      ),
      { seed: 1, numRuns: 500 },
    );
  });

  test('holds no secret, and neither does anything else that an endpoint shows of itself', () => {
    const endpoint = Endpoint.from({ url: 'https://a', material: material(authority) });
    const secret = first.keyPem.split('\n')[1]!;
    assert.match(endpoint.key, /^[0-9a-f]{64}$/);
    for (const text of [JSON.stringify(endpoint), JSON.stringify(endpoint.material), String(endpoint)]) {
      assert.ok(!text.includes(secret));
    }
  });
});

describe('an endpoint is refused', () => {
  const refused: readonly (readonly [string, EndpointOptions, RegExp])[] = [
    ['when the address is no URL', { url: 'cluster:port' }, /ERR_RH_ENDPOINT_INVALID/],
    ['when the address is empty', { url: '' }, /not a URL/],
    ['when the scheme is not HTTP', { url: 'ftp://a' }, /scheme/],
    ['when it has user information', { url: 'https://user:hunter2@a' }, /user information/],
    ['when it has a path', { url: 'https://a/k8s' }, /path/],
    ['when it has a query', { url: 'https://a/?b' }, /path, query/],
    [
      'when TLS options come without TLS',
      { url: 'http://a', insecure: true },
      /insecure given for an address without TLS/,
    ],
    ['when its server name is empty', { url: 'https://a', serverName: '' }, /server name/],
    [
      'when its dialer has no id: a function is not content',
      { url: 'https://a', dialer: { id: '', dial: directDialer.dial } },
      /ERR_RH_DIALER_UNIDENTIFIED/,
    ],
  ];
  for (const [when, options, message] of refused) {
    test(when, () => {
      assert.throws(() => Endpoint.from(options), message);
    });
  }

  test('without a word of the password that was in the address', () => {
    assert.throws(
      () => Endpoint.from({ url: 'https://user:hunter2@a' }),
      (error: Error) => !error.message.includes('hunter2'),
    );
  });
});
