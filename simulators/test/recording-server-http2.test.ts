import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import tls from 'node:tls';
import { CertificateAuthority, RecordingServer, type Exchange } from '@roundhouse/simulators';

const authority = await CertificateAuthority.create();
const certificate = await authority.issue({ commonName: 'server', usage: 'server' });
const protocols = ['h2', 'http/1.1'] as const;

async function connect(server: RecordingServer): Promise<ClientHttp2Session> {
  const session = http2.connect(server.url, { ca: authority.certificatePem });
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  return session;
}

async function answer(stream: ClientHttp2Stream) {
  const [headers] = (await once(stream, 'response')) as [
    http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader,
  ];
  return { headers, body: (await buffer(stream)).toString() };
}

test('a request is recorded with its raw fields: order, repeats, pseudo fields', async () => {
  await using server = await RecordingServer.listen({ tls: certificate, protocols });
  const session = await connect(server);
  const stream = session.request([
    ':method',
    'GET',
    ':scheme',
    'https',
    ':authority',
    'a.test',
    ':path',
    '/x//%2F?y=1',
    'impersonate-group',
    'one',
    'x-other',
    '-',
    'impersonate-group',
    'two',
  ]);
  assert.equal((await answer(stream)).body, 'ok');
  const [request] = server.requests;
  assert.ok(request !== undefined);
  assert.deepEqual(
    [request.protocol, request.method, request.path, request.streamId, request.rawHead, request.outcome],
    ['h2', 'GET', '/x//%2F?y=1', 1, undefined, 'answered'],
  );
  assert.deepEqual(request.rawHeaders, [
    ':method',
    'GET',
    ':scheme',
    'https',
    ':authority',
    'a.test',
    ':path',
    '/x//%2F?y=1',
    'impersonate-group',
    'one',
    'x-other',
    '-',
    'impersonate-group',
    'two',
  ]);
  assert.deepEqual(request.headerValues('Impersonate-Group'), ['one', 'two']);
  assert.equal(request.connection.protocol, 'h2');
  assert.equal(request.connection.tls?.alpnProtocol, 'h2');
  session.destroy();
  await server.waitForOpen(0);
});

test('many streams share one connection, and each has its own body and answer', async () => {
  await using server = await RecordingServer.listen({
    tls: certificate,
    protocols,
    async handle(exchange) {
      await exchange.respond({ body: `${exchange.request.path}:${String(await exchange.readBody())}` });
    },
  });
  const session = await connect(server);
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const stream = session.request({ ':method': 'POST', ':path': `/${index}` });
      stream.end(`body ${index}`);
      return (await answer(stream)).body;
    }),
  );
  assert.deepEqual(
    answers,
    Array.from({ length: 50 }, (_, index) => `/${index}:body ${index}`),
  );
  assert.deepEqual([server.accepted, server.connections[0]?.requests.length], [1, 50]);
  session.destroy();
});

test('a handler for HTTP/1.1 serves HTTP/2: pieces, trailers, information, headers about the connection', async () => {
  await using server = await RecordingServer.listen({
    tls: certificate,
    protocols,
    async handle(exchange) {
      exchange.inform(103, { Link: '<a>' });
      await exchange.writeHead(200, {
        'Keep-Alive': 'timeout=600',
        Connection: 'keep-alive',
        'Set-Cookie': ['a', 'b'],
      });
      await exchange.write('one');
      await exchange.end('two', { 'X-Sum': '3' });
    },
  });
  const session = await connect(server);
  const stream = session.request({ ':path': '/' });
  const information = once(stream, 'headers');
  const trailers = once(stream, 'trailers');
  const { headers, body } = await answer(stream);
  assert.equal(((await information)[0] as http2.IncomingHttpHeaders)['link'], '<a>');
  assert.equal(body, 'onetwo');
  assert.deepEqual(headers['set-cookie'], ['a', 'b']);
  assert.equal(headers['keep-alive'], undefined);
  assert.equal(((await trailers)[0] as http2.IncomingHttpHeaders)['x-sum'], '3');
  session.destroy();
});

test('replies without a body end, whether by their method or by their status', async () => {
  await using server = await RecordingServer.listen({
    tls: certificate,
    protocols,
    handle: (exchange) =>
      exchange.respond({ status: exchange.request.method === 'HEAD' ? 200 : 204, body: '' }),
  });
  const session = await connect(server);
  assert.equal((await answer(session.request({ ':method': 'HEAD' }))).headers[':status'], 200);
  assert.equal((await answer(session.request({ ':method': 'GET' }))).headers[':status'], 204);
  await server.waitUntil(
    () => server.requests.every(({ outcome }) => outcome === 'answered'),
    'both answered',
  );
  session.destroy();
});

test('a stream is reset before the head, after the head, within the body, or refused; the connection lives on', async () => {
  await using server = await RecordingServer.listen({
    tls: certificate,
    protocols,
    async handle(exchange) {
      const { path } = exchange.request;
      if (path === '/refused') exchange.reset(http2.constants.NGHTTP2_REFUSED_STREAM);
      if (path === '/after' || path === '/within') await exchange.writeHead(200);
      if (path === '/within') await exchange.write('half');
      if (path === '/fine') await exchange.respond();
      else exchange.reset();
    },
  });
  const session = await connect(server);
  const seen: unknown[] = [];
  for (const path of ['/refused', '/before', '/after', '/within']) {
    const stream = session.request({ ':path': path });
    let status: number | undefined;
    let body = '';
    stream.on('response', (headers) => {
      status = headers[':status'];
    });
    stream.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    stream.on('error', () => {});
    await new Promise((resolve) => {
      stream.once('close', resolve);
    });
    seen.push([path, status, body, stream.rstCode]);
  }
  assert.deepEqual(seen, [
    ['/refused', undefined, '', http2.constants.NGHTTP2_REFUSED_STREAM],
    ['/before', undefined, '', http2.constants.NGHTTP2_INTERNAL_ERROR],
    ['/after', 200, '', http2.constants.NGHTTP2_INTERNAL_ERROR],
    ['/within', 200, 'half', http2.constants.NGHTTP2_INTERNAL_ERROR],
  ]);
  assert.deepEqual(new Set(server.requests.map(({ outcome }) => outcome)), new Set(['aborted']));
  await answer(session.request({ ':path': '/fine' }));
  assert.equal(server.accepted, 1);
  session.destroy();
});

test('a stream that the client cancels is felt by the handler', async () => {
  const inHand = Promise.withResolvers<Exchange>();
  await using server = await RecordingServer.listen({
    tls: certificate,
    protocols,
    async handle(exchange) {
      await exchange.writeHead(200);
      inHand.resolve(exchange);
    },
  });
  const session = await connect(server);
  const stream = session.request({ ':path': '/watch' });
  await once(stream, 'response');
  const exchange = await inHand.promise;
  stream.close(http2.constants.NGHTTP2_CANCEL);
  await exchange.closed;
  assert.equal(exchange.signal.aborted, true);
  assert.equal(server.requests[0]?.outcome, 'aborted');
  assert.equal(server.open, 1);
  session.destroy();
});

for (const how of ['announced', 'shut down'] as const) {
  test(`running streams end in good order after a GOAWAY: ${how}`, async () => {
    const inHand = Promise.withResolvers<Exchange>();
    await using server = await RecordingServer.listen({
      tls: certificate,
      protocols,
      handle: inHand.resolve,
    });
    const session = await connect(server);
    const announced = once(session, 'goaway');
    const reply = answer(session.request({ ':path': '/' }));
    const exchange = await inHand.promise;
    if (how === 'announced') server.goaway();
    else exchange.connection.shutDown();
    assert.deepEqual((await announced).slice(0, 2), [http2.constants.NGHTTP2_NO_ERROR, 1]);
    await exchange.respond({ body: 'to the end' });
    assert.equal((await reply).body, 'to the end');
    await server.waitForOpen(0);
    assert.equal(server.requests[0]?.outcome, 'answered');
  });
}

test('GOAWAY carries its code and the last stream', async () => {
  await using server = await RecordingServer.listen({ tls: certificate, protocols });
  const session = await connect(server);
  await answer(session.request({ ':path': '/' }));
  const announced = once(session, 'goaway');
  server.goaway({ code: http2.constants.NGHTTP2_ENHANCE_YOUR_CALM, lastStreamId: 7 });
  assert.deepEqual((await announced).slice(0, 2), [http2.constants.NGHTTP2_ENHANCE_YOUR_CALM, 7]);
});

test('connections end by FIN and by RST, also when HTTP/2 runs on them', async () => {
  await using server = await RecordingServer.listen({ tls: certificate, protocols });
  for (const how of ['fin', 'rst'] as const) {
    const socket = tls.connect({
      host: '127.0.0.1',
      port: server.port,
      ca: authority.certificatePem,
      ALPNProtocols: ['h2'],
    });
    // The server's settings.
    await once(socket, 'data');
    const end = new Promise<string>((resolve) => {
      socket.once('end', () => resolve('fin'));
      socket.once('error', (error: NodeJS.ErrnoException) =>
        resolve(error.code === 'ECONNRESET' ? 'rst' : ''),
      );
    });
    server.closeIdle(how);
    assert.equal(await end, how);
    await server.waitForOpen(0);
  }
});

test('the number of concurrent streams is the one that was asked for', async () => {
  await using server = await RecordingServer.listen({ tls: certificate, protocols, maxConcurrentStreams: 3 });
  const session = await connect(server);
  assert.equal(session.remoteSettings.maxConcurrentStreams, 3);
  session.destroy();
});

test('over plain TCP HTTP/2 is spoken to who knows', async () => {
  await using server = await RecordingServer.listen({ protocols: ['h2'] });
  const session = await connect(server);
  assert.equal((await answer(session.request({ ':path': '/' }))).body, 'ok');
  assert.equal(server.requests[0]?.connection.tls, undefined);
  session.destroy();
});

test('a body that the server holds is felt by the client, until it is read', async () => {
  const reading = Promise.withResolvers<void>();
  await using server = await RecordingServer.listen({
    tls: certificate,
    protocols,
    holdBodies: true,
    async handle(exchange) {
      await reading.promise;
      await exchange.readBody();
      await exchange.respond();
    },
  });
  const session = await connect(server);
  const size = 4 * 1024 * 1024;
  const stream = session.request({ ':method': 'PUT' });
  const reply = answer(stream);
  stream.end(Buffer.alloc(size));
  await server.waitForRequests(1);
  assert.equal(server.requests[0]?.bodyBytes, 0);
  reading.resolve();
  await reply;
  assert.equal(server.requests[0]?.bodyBytes, size);
  session.destroy();
});
