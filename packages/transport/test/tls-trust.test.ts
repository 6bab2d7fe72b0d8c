/** Verified and insecure, and one caller's certificate and another's, never meet: not in a pool, not in a TLS session. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { request } from 'undici';
import { Endpoint, RoundhouseError, TlsMaterial, TransportPool } from '@roundhouse/transport';
import type { EndpointOptions } from '@roundhouse/transport';

interface Pair {
  readonly certPem: string;
  readonly keyPem: string;
}

describe('BB-12: trust and identity', () => {
  let authority: CertificateAuthority;
  let foreign: CertificateAuthority;
  let serverPair: Pair;
  /** Made by the right authority, for another name. */
  let misnamedPair: Pair;

  before(async () => {
    authority = await CertificateAuthority.create();
    foreign = await CertificateAuthority.create({ name: 'foreign' });
    serverPair = await authority.issue({
      commonName: 'server',
      dnsNames: ['kubernetes', 'localhost'],
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    misnamedPair = await authority.issue({
      commonName: 'other',
      dnsNames: ['other.example'],
      usage: 'server',
    });
  });

  const listen = (pair: Pair, protocols: readonly HttpProtocol[] = ['http/1.1']): Promise<RecordingServer> =>
    RecordingServer.listen({
      tls: { ...pair, clientCaPem: authority.certificatePem },
      protocols,
      handle: (exchange) => exchange.respond({ headers: { 'keep-alive': 'timeout=600' }, body: 'ok' }),
    });

  const call = async (
    pool: TransportPool,
    url: string,
    options: Omit<EndpointOptions, 'url'>,
  ): Promise<string> => {
    const answer = await request(url, { dispatcher: pool.dispatcher(options) });
    return answer.body.text();
  };

  const fails = (code: string) => (error: unknown) => RoundhouseError.is(error) && error.code === code;

  for (const protocol of ['http/1.1', 'h2'] as const) {
    for (const order of ['insecure first', 'verified first'] as const) {
      test(`${protocol}, ${order}: a verified call never uses what an insecure one has opened`, async () => {
        // An insecure session to this server would make a verified connection succeed if it were resumed.
        await using server = await listen(misnamedPair, [protocol]);
        await using pool = new TransportPool();
        const verified = { material: TlsMaterial.fromPem({ ca: authority.certificatePem }) };
        const insecure = { ...verified, insecure: true };
        const callVerified = (): Promise<void> =>
          assert.rejects(call(pool, server.url, verified), fails('ERR_RH_TLS_UNTRUSTED'));
        const callInsecure = async (): Promise<void> =>
          assert.equal(await call(pool, server.url, insecure), 'ok');
        const steps =
          order === 'insecure first' ? [callInsecure, callVerified] : [callVerified, callInsecure];
        for (let round = 0; round < 3; round += 1) {
          for (const step of steps) {
            await step();
          }
        }
        assert.equal(server.requests.length, 3);
        assert.equal(new Set(server.requests.map((seen) => seen.connection.id)).size, 1);
      });
    }
  }

  test('a strict call after a lax one to a good server opens its own connection and its own session', async () => {
    await using server = await listen(serverPair);
    await using pool = new TransportPool();
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    await call(pool, server.url, { material, insecure: true });
    await call(pool, server.url, { material });
    await call(pool, server.url, { material, insecure: true });
    await call(pool, server.url, { material });
    assert.equal(server.accepted, 2);
    assert.deepEqual(
      server.connections.map((connection) => connection.tls?.sessionReused),
      [false, false],
    );
  });

  test('a session is resumed by connections of one endpoint, and by no other endpoint', async () => {
    await using server = await listen(serverPair);
    await using pool = new TransportPool();
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    const withClosedConnection = async (
      options: Omit<EndpointOptions, 'url'>,
    ): Promise<boolean | undefined> => {
      const next = server.accepted;
      await call(pool, server.url, options);
      server.closeIdle();
      await server.waitForOpen(0);
      return server.connections[next]?.tls?.sessionReused;
    };
    assert.equal(await withClosedConnection({ material }), false);
    assert.equal(await withClosedConnection({ material }), true);
    assert.equal(await withClosedConnection({ material, insecure: true }), false);
    assert.equal(await withClosedConnection({ material, serverName: 'kubernetes' }), false);
    assert.equal(await withClosedConnection({ material, alpn: 'http/1.1' }), false);
    assert.equal(await withClosedConnection({ material }), true);
  });

  test('a CA that is taken away is felt although a session from before could be resumed', async () => {
    await using server = await listen(serverPair);
    await using pool = new TransportPool();
    await call(pool, server.url, { material: TlsMaterial.fromPem({ ca: authority.certificatePem }) });
    server.closeIdle();
    await server.waitForOpen(0);
    const other = { material: TlsMaterial.fromPem({ ca: foreign.certificatePem }) };
    await assert.rejects(call(pool, server.url, other), fails('ERR_RH_TLS_UNTRUSTED'));
    await assert.rejects(call(pool, server.url, {}), fails('ERR_RH_TLS_UNTRUSTED'));
  });

  test('the server name is what is verified and what is sent as SNI', async () => {
    await using server = await listen(misnamedPair);
    await using pool = new TransportPool();
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    assert.equal(await call(pool, server.url, { material, serverName: 'other.example' }), 'ok');
    assert.equal(server.connections[0]?.tls?.servername, 'other.example');
    await assert.rejects(
      call(pool, server.url, { material, serverName: 'wrong.example' }),
      fails('ERR_RH_TLS_UNTRUSTED'),
    );
  });

  test('in 2,000 mixed requests of 20 identities the server sees every request under its own certificate', async () => {
    await using server = await listen(serverPair);
    await using pool = new TransportPool();
    const identities = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const { certPem, keyPem } = await authority.issue({ commonName: `client-${index}`, usage: 'client' });
        const material = TlsMaterial.fromPem({ ca: authority.certificatePem, cert: certPem, key: keyPem });
        return pool.identity(`client-${index}`, Endpoint.from({ url: server.url, material }));
      }),
    );
    // Every tenth request finds all idle connections closed, so that sessions are resumed all along.
    for (let block = 0; block < 20; block += 1) {
      await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const identity = identities[(index * 7 + block) % identities.length]!;
          const answer = await request(`${server.url}/${identity.name}`, { dispatcher: identity.dispatcher });
          await answer.body.dump();
        }),
      );
      server.closeIdle(block % 2 === 0 ? 'fin' : 'rst');
    }
    // A GET that met a connection which the server had just closed was sent again; none was lost.
    assert.ok(server.requests.length >= 2_000);
    const mismatches = server.requests.filter(
      (seen) => seen.path !== `/${seen.connection.tls?.clientCommonName}`,
    );
    assert.equal(mismatches.length, 0);
    assert.ok(server.connections.some((connection) => connection.tls?.sessionReused === true));
  });
});
