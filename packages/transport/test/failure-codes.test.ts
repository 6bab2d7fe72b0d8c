/** Each kind of failure has its own code, so that whoever gets it knows what to do. */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import tls from 'node:tls';
import { once } from 'node:events';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';
import type { IssuedCertificate } from '@roundhouse/simulators';
import {
  Endpoint,
  RoundhouseError,
  TlsMaterial,
  TransportPool,
  transportErrors,
} from '@roundhouse/transport';
import type { EndpointOptions } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { RawServer, answering } from './rig/raw-server.ts';

endsWithNothingOpen();

async function failure(options: EndpointOptions): Promise<RoundhouseError> {
  await using pool = new TransportPool();
  using lease = pool.lease(Endpoint.from(options));
  const call = Call.start(lease);
  await call.ended;
  assert.ok(RoundhouseError.is(call.error), String(call.error));
  return call.error;
}

describe('without TLS', () => {
  test('nothing listens there: ERR_RH_DIAL_FAILED, with the reason', async () => {
    const server = await RawServer.listen(() => undefined);
    const { url } = server;
    await server[Symbol.asyncDispose]();
    const error = await failure({ url });
    assert.equal(error.code, 'ERR_RH_DIAL_FAILED');
    assert.equal(error.retry, 'safe');
    assert.match(error.message, /ECONNREFUSED/);
  });

  test('the name is unknown: ERR_RH_DIAL_FAILED, with the reason', async () => {
    const error = await failure({ url: 'http://no-such-host.invalid' });
    assert.equal(error.code, 'ERR_RH_DIAL_FAILED');
    assert.match(error.message, /no-such-host\.invalid/);
  });

  for (const [what, response] of Object.entries({
    'another protocol': 'SSH-2.0-OpenSSH_9.9\r\n',
    'a status that is none': 'HTTP/1.1 abc OK\r\n\r\n',
    'a head of 100 KB': `HTTP/1.1 200 OK\r\nx-large: ${'x'.repeat(100_000)}\r\n\r\n`,
    'a length that is none': 'HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n',
    'two framings': 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok',
  })) {
    test(`${what} comes back: ERR_RH_RESPONSE_INVALID, and the connection is not used again`, async () => {
      await using server = await RawServer.listen(answering(response));
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url }));
      for (const attempt of [1, 2]) {
        assert.equal(await Call.code(lease), 'ERR_RH_RESPONSE_INVALID');
        assert.equal(server.sockets.length, attempt);
      }
    });
  }

  test('an HTTP/1.1 server is spoken to in HTTP/2: an error, and no end of the process', async () => {
    await using server = await RawServer.listen(answering('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const error = await failure({ url: server.url, alpn: 'h2' });
    assert.equal(error.code, 'ERR_RH_PROTOCOL_REFUSED');
  });

  for (const at of ['before the head', 'in the middle of the body'] as const) {
    test(`the connection is reset ${at}: ERR_RH_CONNECTION_LOST`, async () => {
      await using server = await RawServer.listen((socket) =>
        socket.once('data', () => {
          if (at === 'in the middle of the body') {
            socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
          }
          setImmediate(() => socket.resetAndDestroy());
        }),
      );
      const error = await failure({ url: server.url });
      assert.equal(error.code, 'ERR_RH_CONNECTION_LOST');
      assert.equal(error.retry, 'never');
    });
  }
});

describe('with TLS', () => {
  let authority: CertificateAuthority;
  let foreign: CertificateAuthority;
  let pair: IssuedCertificate;
  let material: TlsMaterial;

  before(async () => {
    authority = await CertificateAuthority.create();
    foreign = await CertificateAuthority.create({ name: 'foreign' });
    pair = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], usage: 'server' });
    material = TlsMaterial.fromPem({ ca: authority.certificatePem });
  });

  test('another authority: ERR_RH_TLS_UNTRUSTED', async () => {
    await using server = await RecordingServer.listen({ tls: pair });
    const other = TlsMaterial.fromPem({ ca: foreign.certificatePem });
    assert.equal((await failure({ url: server.url, material: other })).code, 'ERR_RH_TLS_UNTRUSTED');
    assert.equal((await failure({ url: server.url })).code, 'ERR_RH_TLS_UNTRUSTED');
  });

  test('another name: ERR_RH_TLS_UNTRUSTED, and the message says which', async () => {
    await using server = await RecordingServer.listen({ tls: pair });
    const error = await failure({ url: server.url, material, serverName: 'api.example' });
    assert.equal(error.code, 'ERR_RH_TLS_UNTRUSTED');
    assert.match(error.message, /api\.example/);
  });

  test('an expired certificate: ERR_RH_TLS_UNTRUSTED', async () => {
    const expired = await authority.issue({
      commonName: 'server',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
      notBefore: new Date(Date.now() - 7_200_000),
      notAfter: new Date(Date.now() - 3_600_000),
    });
    await using server = await RecordingServer.listen({ tls: expired });
    const error = await failure({ url: server.url, material });
    assert.equal(error.code, 'ERR_RH_TLS_UNTRUSTED');
    assert.match(error.message, /expired/);
  });

  test('no TLS is spoken there: ERR_RH_TLS_FAILED', async () => {
    await using server = await RecordingServer.listen();
    const error = await failure({ url: server.url.replace('http:', 'https:'), material });
    assert.equal(error.code, 'ERR_RH_TLS_FAILED');
  });

  test('the connection ends during the handshake: ERR_RH_TLS_FAILED', async () => {
    await using server = await RawServer.listen((socket) => socket.once('data', () => socket.end()));
    const error = await failure({ url: server.url.replace('http:', 'https:'), material });
    assert.equal(error.code, 'ERR_RH_TLS_FAILED');
  });

  test('no common TLS version: ERR_RH_TLS_FAILED', async () => {
    await using server = await RecordingServer.listen({ tls: { ...pair, maxVersion: 'TLSv1.2' } });
    const error = await failure({ url: server.url, material, minVersion: 'TLSv1.3' });
    assert.equal(error.code, 'ERR_RH_TLS_FAILED');
  });

  for (const [demanded, spoken] of [
    ['h2', 'http/1.1'],
    ['http/1.1', 'h2'],
  ] as const) {
    test(`${demanded} is demanded and ${spoken} spoken: ERR_RH_ALPN_MISMATCH`, async () => {
      await using server = await RecordingServer.listen({ tls: pair, protocols: [spoken] });
      const error = await failure({ url: server.url, material, alpn: demanded });
      assert.equal(error.code, 'ERR_RH_ALPN_MISMATCH');
    });
  }

  test('h2 is demanded from a server that knows nothing of ALPN: ERR_RH_ALPN_MISMATCH', async () => {
    await using server = await RecordingServer.listen({ tls: { ...pair, alpn: false } });
    const error = await failure({ url: server.url, material, alpn: 'h2' });
    assert.equal(error.code, 'ERR_RH_ALPN_MISMATCH');
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url, material }));
    assert.equal(await Call.text(lease), 'ok');
  });

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`${version}: the server refuses the client certificate: ERR_RH_TLS_FAILED, not sent again`, async () => {
      let requests = 0;
      const server = tls.createServer(
        {
          cert: pair.certPem,
          key: pair.keyPem,
          ca: foreign.certificatePem,
          requestCert: true,
          rejectUnauthorized: true,
          minVersion: version,
          maxVersion: version,
          ALPNProtocols: ['http/1.1'],
        },
        (socket) => socket.on('data', () => (requests += 1)),
      );
      let accepted = 0;
      server.on('connection', () => (accepted += 1));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      assert.ok(typeof address === 'object' && address !== null);
      const client = await authority.issue({ commonName: 'client', usage: 'client' });
      const own = TlsMaterial.fromPem({
        ca: authority.certificatePem,
        cert: client.certPem,
        key: client.keyPem,
      });
      const error = await failure({ url: `https://127.0.0.1:${address.port}`, material: own });
      // With TLS 1.3 the client is done before the server has looked, and what arrives first, alert or reset, is chance.
      assert.match(error.code, /^ERR_RH_(?:TLS_FAILED|CONNECTION_LOST)$/);
      assert.equal(requests, 0);
      assert.ok(accepted <= 3, `${accepted} connections`);
      server.close();
      await once(server, 'close');
    });
  }

  test('no failure holds material: neither in its message nor in what is printed of it', async () => {
    const client = await authority.issue({ commonName: 'client', usage: 'client' });
    const secret = client.keyPem.split('\n')[1] ?? '';
    assert.ok(secret.length > 30);
    const own = TlsMaterial.fromPem({ ca: foreign.certificatePem, cert: client.certPem, key: client.keyPem });
    await using server = await RecordingServer.listen({ tls: pair });
    const error = await failure({ url: server.url, material: own });
    const { inspect } = await import('node:util');
    assert.ok(!inspect(error, { depth: 20, showHidden: true }).includes(secret));
    assert.ok(!inspect(own, { depth: 20, showHidden: true }).includes(secret));
    assert.ok(!JSON.stringify(own).includes(secret));
  });
});

test('the catalogue says of every code what happened, what to do, and whether to try again', () => {
  for (const [code, entry] of Object.entries(transportErrors)) {
    assert.match(code, /^ERR_RH_[A-Z_]+$/);
    assert.match(entry.summary, /^[A-Z].*\.$/);
    assert.match(entry.remedy, /^[A-Z].*\.$/);
    assert.ok(entry.httpStatus >= 400 && entry.httpStatus < 600);
  }
});
