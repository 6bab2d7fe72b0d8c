import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';

const authority = await CertificateAuthority.create();
const serverCertificate = await authority.issue({
  commonName: 'server',
  dnsNames: ['api.test', 'localhost'],
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});

/** A TLS client with its handshake done and one request answered, so that a session ticket has arrived, too. */
async function connect(port: number, options: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> {
  const socket = tls.connect({ host: '127.0.0.1', port, ca: authority.certificatePem, ...options });
  await once(socket, 'secureConnect');
  if (socket.alpnProtocol !== 'h2') {
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
  }
  return socket;
}

test('a handshake is recorded with client certificate, server name and protocol', async () => {
  const certificate = await authority.issue({ commonName: 'alice', organizations: ['dev'], usage: 'client' });
  await using server = await RecordingServer.listen({
    tls: { ...serverCertificate, clientCaPem: authority.certificatePem },
    protocols: ['http/1.1', 'h2'],
  });
  const client = await connect(server.port, {
    cert: certificate.certPem,
    key: certificate.keyPem,
    servername: 'api.test',
    ALPNProtocols: ['h2', 'http/1.1'],
  });
  assert.deepEqual(server.connections[0]?.tls, {
    version: 'TLSv1.3',
    alpnProtocol: 'http/1.1',
    servername: 'api.test',
    sessionReused: false,
    clientCommonName: 'alice',
    clientOrganizations: ['dev'],
    clientFingerprint: new X509Certificate(certificate.certPem).fingerprint256,
    clientAuthorized: true,
  });
  assert.equal(server.requests[0]?.connection, server.connections[0]);
  assert.deepEqual([server.open, server.accepted, server.secured], [1, 1, 1]);
  client.destroy();
  await server.waitForOpen(0);
});

test('a client without a certificate, and one of an unknown authority, are let in and recorded as what they are', async () => {
  const strangers = await CertificateAuthority.create();
  const mallory = await strangers.issue({ commonName: 'mallory', usage: 'client' });
  await using server = await RecordingServer.listen({
    tls: { ...serverCertificate, clientCaPem: authority.certificatePem },
  });
  (await connect(server.port)).destroy();
  (await connect(server.port, { cert: mallory.certPem, key: mallory.keyPem })).destroy();
  assert.deepEqual(
    server.connections.map(({ tls: seen }) => [seen?.clientCommonName, seen?.clientAuthorized]),
    [
      [undefined, false],
      ['mallory', false],
    ],
  );
  assert.deepEqual(
    server.connections.map(({ tls: seen }) => [seen?.servername, seen?.alpnProtocol]),
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
});

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a resumed session is recorded as such over ${maxVersion}`, async () => {
    await using server = await RecordingServer.listen({ tls: { ...serverCertificate, maxVersion } });
    let session: Buffer | undefined;
    const first = tls.connect({ host: '127.0.0.1', port: server.port, ca: authority.certificatePem });
    first.on('session', (ticket: Buffer) => {
      session = ticket;
    });
    first.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(first, 'data');
    assert.ok(session !== undefined);
    const second = await connect(server.port, { session });
    assert.deepEqual(
      server.connections.map(({ tls: seen }) => [seen?.version, seen?.sessionReused]),
      [
        [maxVersion, false],
        [maxVersion, true],
      ],
    );
    first.destroy();
    second.destroy();
  });
}

test('a connection counts as accepted and open though its handshake fails, or never comes', async () => {
  await using server = await RecordingServer.listen({ tls: serverCertificate });
  const distrustful = tls.connect({ host: '127.0.0.1', port: server.port });
  await assert.rejects(once(distrustful, 'secureConnect'), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  const plain = net.connect(server.port, '127.0.0.1');
  plain.on('error', () => {});
  await server.waitForAccepted(2);
  assert.equal(server.connections[1]?.open, true);
  plain.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await server.waitForOpen(0);
  assert.deepEqual([server.accepted, server.requests.length], [2, 0]);
  assert.match(String(server.connections[1]?.error), /http request/i);
  assert.equal(server.connections[1]?.tls, undefined);
  assert.equal(server.tlsErrors.at(-1), server.connections[1]?.error);
});

test('a client that wants another protocol only is refused, unless the server knows nothing of ALPN', async () => {
  await using strict = await RecordingServer.listen({ tls: serverCertificate });
  await assert.rejects(connect(strict.port, { ALPNProtocols: ['h2'] }), {
    code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
  });
  await using old = await RecordingServer.listen({ tls: { ...serverCertificate, alpn: false } });
  const client = await connect(old.port, { ALPNProtocols: ['h2'] });
  assert.equal(client.alpnProtocol, false);
  assert.equal(old.requests[0]?.protocol, 'http/1.1');
  client.destroy();
});

test('a new certificate is for new handshakes', async () => {
  const next = await CertificateAuthority.create();
  await using server = await RecordingServer.listen({ tls: serverCertificate });
  const before = await connect(server.port);
  server.replaceTls(await next.issue({ commonName: 'server', usage: 'server' }));
  await assert.rejects(connect(server.port), { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
  const after = await connect(server.port, { ca: next.certificatePem });
  before.write('GET /again HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(before, 'data');
  before.destroy();
  after.destroy();
});

test('over TLS, too, a reset arrives as RST, an end as FIN, and a destroyed client as closed', async () => {
  await using server = await RecordingServer.listen({ tls: serverCertificate });
  const cut = await connect(server.port);
  const cutError = once(cut, 'error');
  server.connections[0]?.reset();
  assert.equal(((await cutError)[0] as NodeJS.ErrnoException).code, 'ECONNRESET');
  await server.waitForOpen(0);

  const ended = await connect(server.port);
  server.connections[1]?.finish();
  await once(ended.resume(), 'end');
  await server.waitForOpen(0);

  const leaving = await connect(server.port);
  leaving.end();
  await server.waitForOpen(0);
  assert.equal(server.connections[2]?.finReceived, true);
  assert.equal(server.connections[2].error, undefined);

  await connect(server.port);
  server.destroySockets();
  await server.waitForOpen(0);
});
