import assert from 'node:assert/strict';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { test } from 'node:test';
import tls from 'node:tls';
import { CertificateAuthority, type IssuedCertificate } from '@roundhouse/simulators';

/** What both ends say of one handshake; `refused` is the client's reason when there is one. */
async function handshake(options: {
  server: IssuedCertificate;
  serverTrusts?: string;
  client?: IssuedCertificate;
  clientTrusts: string;
  servername?: string;
}): Promise<{ refused?: string; clientCertificate?: tls.PeerCertificate; clientAuthorized?: boolean }> {
  await using server = tls.createServer({
    cert: options.server.certPem,
    key: options.server.keyPem,
    requestCert: true,
    rejectUnauthorized: false,
    ...(options.serverTrusts === undefined ? {} : { ca: options.serverTrusts }),
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert(typeof address === 'object' && address !== null);
  const accepted = once(server, 'secureConnection');
  accepted.catch(() => {});
  const client = tls.connect({
    host: '127.0.0.1',
    port: address.port,
    ca: options.clientTrusts,
    ...(options.servername === undefined ? {} : { servername: options.servername }),
    ...(options.client === undefined ? {} : { cert: options.client.certPem, key: options.client.keyPem }),
  });
  try {
    await once(client, 'secureConnect');
    const [secured] = (await accepted) as [tls.TLSSocket];
    const result = { clientCertificate: secured.getPeerCertificate(), clientAuthorized: secured.authorized };
    secured.destroy();
    return result;
  } catch (error) {
    return { refused: String((error as NodeJS.ErrnoException).code) };
  } finally {
    client.destroy();
  }
}

test('a certificate for both uses carries common name, organizations in order, names and addresses', async () => {
  const authority = await CertificateAuthority.create({ name: 'Authority, Test=1' });
  const { certPem, keyPem } = await authority.issue({
    commonName: 'system:node:a,b=c',
    organizations: ['system:masters', 'dev, ops'],
    dnsNames: ['api.example.test', '*.apps.example.test'],
    ipAddresses: ['10.0.0.1', 'fd00::1'],
    usage: 'both',
  });
  const certificate = new X509Certificate(certPem);
  const subject = certificate.toLegacyObject().subject as unknown as Record<string, unknown>;
  assert.equal(subject['CN'], 'system:node:a,b=c');
  assert.deepEqual(subject['O'], ['system:masters', 'dev, ops']);
  assert.equal(
    certificate.subjectAltName,
    'DNS:api.example.test, DNS:*.apps.example.test, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1',
  );
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  assert.equal(certificate.ca, false);
  assert.equal(certificate.issuer, 'CN=Authority\\, Test=1');
  assert.ok(certificate.checkIssued(new X509Certificate(authority.certificatePem)));
  assert.ok(keyPem.startsWith('-----BEGIN PRIVATE KEY-----\n'));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(keyPem)));
});

test('two ends that trust the authority know each other', async () => {
  const authority = await CertificateAuthority.create();
  const result = await handshake({
    server: await authority.issue({ commonName: 'server', usage: 'server' }),
    serverTrusts: authority.certificatePem,
    client: await authority.issue({ commonName: 'alice', organizations: ['dev'], usage: 'client' }),
    clientTrusts: authority.certificatePem,
  });
  assert.equal(result.refused, undefined);
  assert.equal(result.clientAuthorized, true);
  assert.equal(result.clientCertificate?.subject.CN, 'alice');
});

test('a server of another authority of the same name is refused', async () => {
  const [one, other] = await Promise.all([CertificateAuthority.create(), CertificateAuthority.create()]);
  const result = await handshake({
    server: await other.issue({ commonName: 'server', usage: 'server' }),
    clientTrusts: one.certificatePem,
  });
  assert.match(result.refused ?? '', /SELF_SIGNED|SIGNATURE|UNABLE_TO_VERIFY/);
});

test('a server certificate for another name, or out of its time, is refused for that reason', async () => {
  const authority = await CertificateAuthority.create();
  const clientTrusts = authority.certificatePem;
  const elsewhere = await authority.issue({ commonName: 'x', dnsNames: ['elsewhere.test'], usage: 'server' });
  const expired = await authority.issue({
    commonName: 'x',
    notBefore: new Date(Date.now() - 2000),
    notAfter: new Date(Date.now() - 1000),
    usage: 'server',
  });
  const future = await authority.issue({
    commonName: 'x',
    notBefore: new Date(Date.now() + 60_000),
    usage: 'server',
  });
  assert.equal(
    (await handshake({ server: elsewhere, clientTrusts })).refused,
    'ERR_TLS_CERT_ALTNAME_INVALID',
  );
  assert.equal(
    (await handshake({ server: elsewhere, clientTrusts, servername: 'elsewhere.test' })).refused,
    undefined,
  );
  assert.equal((await handshake({ server: expired, clientTrusts })).refused, 'CERT_HAS_EXPIRED');
  assert.equal((await handshake({ server: future, clientTrusts })).refused, 'CERT_NOT_YET_VALID');
});

test('a certificate is good for its own use only', async () => {
  const authority = await CertificateAuthority.create();
  const trust = authority.certificatePem;
  const client = await authority.issue({
    commonName: 'x',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'client',
  });
  const server = await authority.issue({ commonName: 'x', usage: 'server' });
  assert.equal((await handshake({ server: client, clientTrusts: trust })).refused, 'INVALID_PURPOSE');
  assert.equal(
    (await handshake({ server, serverTrusts: trust, client: server, clientTrusts: trust })).clientAuthorized,
    false,
  );
});

test('what an intermediate issues is trusted by who trusts the root', async () => {
  const root = await CertificateAuthority.create({ name: 'root' });
  const issuing = await (await root.intermediate({ name: 'middle' })).intermediate({ name: 'issuing' });
  const server = await issuing.issue({ commonName: 'server', usage: 'server' });
  assert.equal(server.certPem.match(/BEGIN CERTIFICATE/g)?.length, 3);
  assert.equal((await handshake({ server, clientTrusts: root.certificatePem })).refused, undefined);
});

test('an RSA authority works the same, also with an intermediate of the other kind', async () => {
  const authority = await CertificateAuthority.create({ keyAlgorithm: 'rsa-2048' });
  const issuing = await authority.intermediate({ keyAlgorithm: 'ecdsa-p256' });
  const rsa = await authority.issue({ commonName: 'server', usage: 'server' });
  const mixed = await issuing.issue({ commonName: 'server', usage: 'server' });
  assert.equal(createPrivateKey(rsa.keyPem).asymmetricKeyType, 'rsa');
  assert.equal((await handshake({ server: rsa, clientTrusts: authority.certificatePem })).refused, undefined);
  assert.equal(
    (await handshake({ server: mixed, clientTrusts: authority.certificatePem })).refused,
    undefined,
  );
});
