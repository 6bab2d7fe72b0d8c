import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { test } from 'node:test';
import { ProcessError } from '@roundhouse/process';
import { Gateway } from '../src/index.ts';
import { ask, askHttp2, codeOf, dial, dialHttp2, sendRaw, sendRawGet, statusIn } from './support/clients.ts';
import { authority, callersAuthority, openRig } from './support/gateway-rig.ts';

const path = '/clusters/alpha/version';

test('a page that rebinds its name, or another site, is turned away with 403 before anything is done', async (t) => {
  const { gateway, upstream } = await openRig(t);
  const { port } = new URL(gateway.url);
  for (const fields of [
    ['Host', 'evil.example'],
    ['Host', `evil.example:${port}`],
    ['Host', `127.0.0.1.evil.example:${port}`],
    ['Host', '0.0.0.0'],
    ['Host', ''],
    ['Origin', 'https://evil.example'],
    ['Origin', 'null'],
    ['Origin', `http://localhost:1`],
  ]) {
    const { status, body } = await ask(gateway.url, path, { fields });
    assert.equal(status, 403, fields.join(': '));
    assert.equal(statusIn(body).error, 'ERR_RH_FOREIGN_PAGE');
  }
  assert.equal(upstream.accepted, 0);
  for (const fields of [
    ['Host', `localhost:${port}`],
    ['Host', `[::1]:${port}`],
    ['Host', `127.0.0.1:${port}`, 'Origin', `http://127.0.0.1:${port}`],
  ]) {
    assert.equal((await ask(gateway.url, path, { fields })).status, 200, fields.join(': '));
  }
});

for (const tls of [false, true]) {
  const over = tls ? 'TLS' : 'plain HTTP';

  test(`over ${over} a head that is too large is a 431, one with too many fields too`, async (t) => {
    const { gateway, upstream } = await openRig(t, { tls, limits: { maxHeadBytes: 8_192 } });
    const large = await sendRawGet(gateway.url, path, `X-Large: ${'x'.repeat(9_000)}`);
    assert.equal(codeOf(large), 431);
    assert.match(large, /"reason":"ERR_RH_HEAD_TOO_LARGE"/);
    const many = await sendRawGet(gateway.url, path, ...Array.from({ length: 300 }, () => 'X: 1'));
    assert.equal(codeOf(many), 431);
    assert.equal(upstream.accepted, 0);
  });

  test(`over ${over} what is not HTTP is a 400, and the connection ends`, async (t) => {
    const { gateway } = await openRig(t, { tls });
    const { host } = new URL(gateway.url);
    for (const bytes of [
      'nonsense\r\n\r\n',
      `GET ${path} HTTP/1.1\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX : 1\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX: 1\r\n folded\r\n\r\n`,
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX: a\0b\r\n\r\n`,
      `GET /clusters/alpha/\u00e9 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    ]) {
      assert.equal(codeOf(await sendRaw(gateway.url, bytes)), 400, JSON.stringify(bytes));
    }
  });

  test(`over ${over} a head that does not come is a 408`, async (t) => {
    const { gateway } = await openRig(t, { tls, limits: { headTimeoutMs: 300 } });
    const answer = await sendRaw(gateway.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Slow:`);
    assert.equal(codeOf(answer), 408);
  });

  test(`over ${over} an offer to upgrade that is not taken up is left out, and the request answered as it stands`, async (t) => {
    const { gateway, upstream } = await openRig(t, { tls, ...(tls && { tokens: ['good,joe,,'] }) });
    const { host } = new URL(gateway.url);
    const h2c = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer good\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`;
    assert.equal(codeOf(await sendRaw(gateway.url, h2c)), 200);
    assert.deepEqual(upstream.requests[0]?.headerValues('upgrade'), []);
    assert.deepEqual(upstream.requests[0]?.headerValues('http2-settings'), []);
  });

  test(`over ${over} 100 comes when the body is wanted, and a refusal comes instead of it`, async (t) => {
    const { gateway, upstream } = await openRig(t, {
      tls,
      ...(tls && { tokens: ['good,joe,,'] }),
      handle: async (exchange) => exchange.respond({ body: await exchange.readBody() }),
    });
    const { host } = new URL(gateway.url);
    const head = (target: string): string =>
      `POST ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer good\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
    const socket = await dial(gateway.url);
    socket.write(head('/clusters/alpha/api/v1/namespaces/web/pods'));
    const [informed] = await once(socket, 'data');
    assert.match(String(informed), /^HTTP\/1\.1 100 /);
    socket.write('hello');
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 200 /);
    socket.destroy();
    assert.deepEqual(upstream.requests[0]?.headerValues('expect'), []);
    const refused = await sendRaw(gateway.url, head('/clusters/nope/api'));
    assert.equal(codeOf(refused), 404);
    assert.match(refused, /connection: close/i);
  });
}

test('CONNECT and TRACE are not forwarded', async (t) => {
  const { gateway, upstream } = await openRig(t, { tls: true, tokens: ['good,joe,,'] });
  const { host } = new URL(gateway.url);
  const trace = await sendRaw(
    gateway.url,
    `TRACE ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer good\r\nConnection: close\r\n\r\n`,
  );
  assert.equal(codeOf(trace), 405);
  const connect = `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n`;
  assert.equal(codeOf(await sendRaw(gateway.url, `${connect}\r\n`)), 401);
  const refused = await sendRaw(
    gateway.url,
    `${connect}Authorization: Bearer good\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
  );
  assert.equal(codeOf(refused), 405);
  assert.match(refused, /"reason":"ERR_RH_METHOD_UNSUPPORTED"/);
  await using session = await dialHttp2(gateway.url);
  const overHttp2 = await askHttp2(session, {
    ':method': 'CONNECT',
    ':authority': 'evil.example:443',
    authorization: 'Bearer good',
  });
  assert.equal(overHttp2.status, 405);
  assert.equal(upstream.accepted, 0);
});

test('a head over HTTP/2 that is too large is refused, and the session goes on', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    tls: true,
    tokens: ['good,joe,,'],
    limits: { maxHeadBytes: 8_192 },
  });
  await using session = await dialHttp2(gateway.url);
  const refused = await askHttp2(session, { ':path': path, 'x-large': 'x'.repeat(30_000) }).then(
    ({ status }) => status,
    () => 431,
  );
  assert.equal(refused, 431);
  const { status } = await askHttp2(session, { ':path': path, authorization: 'Bearer good' });
  assert.equal(status, 200);
  assert.equal(upstream.requests.length, 1);
});

test('Host and :authority that differ are a 400', async (t) => {
  const { gateway } = await openRig(t, { tls: true, tokens: ['good,joe,,'] });
  const { certPem: cert, keyPem: key } = await callersAuthority.issue({
    commonName: 'jane',
    usage: 'client',
  });
  await using session = await dialHttp2(gateway.url, { cert, key });
  const { status } = await askHttp2(session, { ':path': path, ':authority': 'a.example', host: 'b.example' });
  assert.equal(status, 400);
});

test('a port that is taken is named with its option, and what was opened before is closed', async (t) => {
  const { kubeconfig } = await openRig(t);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const address = taken.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  for (const [options, option] of [
    [{ listen: { port }, admin: { port: 0 } }, '--listen'],
    [{ listen: { port: 0 }, admin: { port } }, '--admin'],
  ] as const) {
    await assert.rejects(
      Gateway.open({ kubeconfigs: [kubeconfig], logLevel: 'silent', ...options }),
      (error) => {
        assert.ok(error instanceof ProcessError);
        assert.equal(error.code, 'ERR_RH_LISTEN_FAILED');
        assert.match(error.message, new RegExp(`port ${port} is taken`));
        assert.ok(error.message.includes(option), error.message);
        return true;
      },
    );
  }
});

test('over TLS a connection whose handshake does not end is closed at the time limit, and is none that a shutdown waits for', async (t) => {
  const { gateway } = await openRig(t, { tls: true, limits: { headTimeoutMs: 300 } });
  const { hostname, port } = new URL(gateway.url);
  // Nothing, half a ClientHello, and what is no TLS at all.
  const beginnings = [
    Buffer.alloc(0),
    Buffer.from('16030100c8010000c40303', 'hex'),
    Buffer.from('GET / HTTP/1.1\r\n\r\n'),
  ];
  await Promise.all(
    beginnings.map(async (bytes) => {
      // Keeps its own side open, so that only the gateway can end it.
      const socket = connectTcp({ host: hostname, port: Number(port), allowHalfOpen: true });
      socket.on('error', () => undefined);
      socket.resume();
      await once(socket, 'connect');
      socket.write(bytes);
      await Promise.race([once(socket, 'end'), once(socket, 'close')]);
      socket.destroy();
    }),
  );
  const startedAt = performance.now();
  await gateway.close({ timeoutMs: 60_000 });
  assert.ok(performance.now() - startedAt < 10_000, 'the shutdown waited for connections that are none');
});

test('over HTTP/2 a head that is never finished does not keep its connection', async (t) => {
  const { gateway } = await openRig(t, { tls: true, limits: { keepAliveTimeoutMs: 400 } });
  const { hostname, port } = new URL(gateway.url);
  const socket = connectTls({
    host: hostname,
    port: Number(port),
    ca: authority.certificatePem,
    servername: 'localhost',
    ALPNProtocols: ['h2'],
  });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  socket.resume();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  // SETTINGS without any, then HEADERS of stream 1 with `:method: GET` and without END_HEADERS.
  socket.write(Buffer.from('000000040000000000', 'hex'));
  socket.write(Buffer.from('00000101000000000182', 'hex'));
  await once(socket, 'close');
});
