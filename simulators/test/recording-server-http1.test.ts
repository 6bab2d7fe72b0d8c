import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { RecordingServer, type Exchange } from '@roundhouse/simulators';

/** A client that sends what it is told and collects what comes, until the server ends the connection. */
async function rawClient(port: number) {
  const socket = net.connect(port, '127.0.0.1');
  socket.setEncoding('latin1');
  const lines = { received: '' };
  let error: NodeJS.ErrnoException | undefined;
  socket.on('data', (chunk: string) => {
    lines.received += chunk;
  });
  socket.on('error', (reason) => {
    error = reason;
  });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  await once(socket, 'connect');
  return {
    socket,
    send: (bytes: string) => socket.write(bytes, 'latin1'),
    get received() {
      return lines.received;
    },
    async until(part: string): Promise<string> {
      while (!lines.received.includes(part)) await once(socket, 'data');
      return lines.received;
    },
    async ended(): Promise<{ received: string; code: string | undefined }> {
      await closed;
      return { received: lines.received, code: error?.code };
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

test('the head of a request is kept to the byte: order, case, spaces and repeats', async () => {
  await using server = await RecordingServer.listen();
  using client = await rawClient(server.port);
  const head =
    'GET /a//b/../%2F?x=1&x=2 HTTP/1.1\r\nHost: z\r\nimpersonate-GROUP:   one  \r\nX-Odd: \xe9\r\nImpersonate-Group: two\r\n\r\n';
  client.send(head);
  await client.until('\r\n\r\nok');
  const [request] = server.requests;
  assert.equal(request?.rawHead, head);
  assert.equal(request.method, 'GET');
  assert.equal(request.path, '/a//b/../%2F?x=1&x=2');
  assert.deepEqual(request.headerValues('Impersonate-Group'), ['one', 'two']);
  assert.deepEqual(request.rawHeaders.slice(0, 4), ['Host', 'z', 'impersonate-GROUP', 'one']);
});

test('heads on a kept-alive connection are kept apart from each other and from bodies', async () => {
  await using server = await RecordingServer.listen();
  using client = await rawClient(server.port);
  const post = 'POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 39\r\n\r\n';
  client.send(post);
  await server.waitForRequests(1);
  // A body that looks like the head that comes next.
  client.send('GET /second HTTP/1.1\r\nX-Not: a head\r\n\r\n');
  await server.waitUntil(() => server.requests[0]?.bodyEnded === true, 'the first body');
  const second = 'GET /second HTTP/1.1\r\nHost: a\r\n\r\n';
  const third = 'GET /third HTTP/1.1\r\nHost: a\r\nX-Third: 3\r\n\r\n';
  client.send(second + third.slice(0, 10));
  await server.waitForRequests(2);
  client.send(third.slice(10));
  await server.waitForRequests(3);
  assert.deepEqual(
    server.requests.map(({ rawHead }) => rawHead),
    [post, second, third],
  );
  assert.equal(server.requests[0]?.body.toString(), 'GET /second HTTP/1.1\r\nX-Not: a head\r\n\r\n');
  assert.equal(server.accepted, 1);
  assert.equal(server.connections[0]?.requests.length, 3);
});

test('a head is kept to the byte after a body in chunks, too', async () => {
  await using server = await RecordingServer.listen();
  using client = await rawClient(server.port);
  const post = 'POST /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  client.send(post);
  await server.waitForRequests(1);
  // A piece that looks like the head that comes next.
  const piece = 'GET /second HTTP/1.1\r\nX-Not: a head\r\n\r\n';
  client.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
  await server.waitUntil(() => server.requests[0]?.bodyBytes === piece.length, 'the piece');
  const get = 'GET /second HTTP/1.1\r\nHost:  b\r\n\r\n';
  client.send(`0\r\n\r\n${get}`);
  await server.waitForRequests(2);
  assert.deepEqual(
    server.requests.map(({ rawHead }) => rawHead),
    [post, get],
  );
});

test('pipelined requests that arrive in one piece have their own heads', async () => {
  await using server = await RecordingServer.listen();
  using client = await rawClient(server.port);
  const get = 'GET /second HTTP/1.1\r\nHost: a\r\n\r\n';
  const post = `POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: ${get.length}\r\n\r\n`;
  client.send(`${post}${get}${get}`);
  await server.waitForRequests(2);
  assert.deepEqual(
    server.requests.map(({ rawHead }) => rawHead),
    [post, get],
  );
});

test('a reply holds what the handler said and its framing, nothing else', async () => {
  await using server = await RecordingServer.listen({
    handle: (exchange) =>
      exchange.respond({
        status: 201,
        headers: { 'X-One': '1', 'Set-Cookie': ['a', 'b'], 'Keep-Alive': 'timeout=600' },
        body: 'héllo',
      }),
  });
  using client = await rawClient(server.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(
    await client.until('\r\n\r\nh'),
    'HTTP/1.1 201 Created\r\nX-One: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nKeep-Alive: timeout=600\r\n' +
      'content-length: 6\r\nConnection: keep-alive\r\n\r\nh\xc3\xa9llo',
  );
});

test('a reply can come in pieces, with information before and trailers after it', async () => {
  await using server = await RecordingServer.listen({
    async handle(exchange) {
      exchange.inform(103, { Link: ['<a>', '<b>'] });
      await exchange.writeHead(200, { 'Content-Type': 'text/plain' });
      await exchange.write('one');
      await exchange.end('two', { 'X-Sum': '3' });
    },
  });
  using client = await rawClient(server.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal(
    await client.until('X-Sum: 3\r\n\r\n'),
    'HTTP/1.1 103 Information\r\nLink: <a>\r\nLink: <b>\r\n\r\n' +
      'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n' +
      '3\r\none\r\n3\r\ntwo\r\n0\r\nX-Sum: 3\r\n\r\n',
  );
  assert.equal(server.requests[0]?.outcome, 'answered');
});

test('bodies are counted whole and kept up to the limit', async () => {
  await using server = await RecordingServer.listen({
    keepBodyBytes: 4,
    handle: async (exchange) => exchange.respond({ body: await exchange.readBody() }),
  });
  const request = http.request(server.url, { method: 'PUT', agent: false });
  request.end(Buffer.alloc(300_000, 'abcd'));
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  assert.equal(await text(response), 'abcd');
  assert.equal(server.requests[0]?.bodyBytes, 300_000);
});

test('a body that the server holds is felt by the client, until it is read', async () => {
  const reading = Promise.withResolvers<void>();
  await using server = await RecordingServer.listen({
    holdBodies: true,
    async handle(exchange) {
      await reading.promise;
      await exchange.readBody();
      await exchange.respond();
    },
  });
  const size = 32 * 1024 * 1024;
  const request = http.request(server.url, { method: 'PUT', agent: false });
  request.end(Buffer.alloc(size));
  const response = once(request, 'response') as Promise<[http.IncomingMessage]>;
  await server.waitForRequests(1);
  assert.equal(server.requests[0]?.bodyBytes, 0);
  assert.ok(request.writableLength > size / 2);
  reading.resolve();
  (await response)[0].resume();
  assert.equal(server.requests[0]?.bodyBytes, size);
});

test('a client that goes away is felt by the handler, and the request counts as aborted', async () => {
  const inHand = Promise.withResolvers<Exchange>();
  await using server = await RecordingServer.listen({ handle: (exchange) => inHand.resolve(exchange) });
  const client = await rawClient(server.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const exchange = await inHand.promise;
  assert.equal(exchange.signal.aborted, false);
  client.socket.destroy();
  await exchange.closed;
  assert.equal(exchange.signal.aborted, true);
  assert.equal(server.requests[0]?.outcome, 'aborted');
  await exchange.respond();
  await server.waitForOpen(0);
  assert.equal(server.connections[0]?.finReceived, true);
});

test('FIN and RST of a client are told apart', async () => {
  await using server = await RecordingServer.listen();
  const client = await rawClient(server.port);
  await server.waitForOpen(1);
  client.socket.resetAndDestroy();
  await server.waitForOpen(0);
  const [connection] = server.connections;
  assert.equal(connection?.finReceived, false);
  assert.match(String(connection.error), /ECONNRESET/);
  assert.ok(connection.closedAt !== undefined && connection.closedAt >= connection.openedAt);
});

test('a reset before the head, after the head, and within the body', async () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\nConnection: keep-alive\r\n\r\n';
  for (const sent of ['', head, `${head}half`]) {
    // libuv 1.51, which Node 24 has, reports a reset that it notices together with the last data as an ordinary end.
    const received = Promise.withResolvers<void>();
    await using server = await RecordingServer.listen({
      async handle(exchange) {
        if (sent !== '') await exchange.writeHead(200, { 'content-length': '10' });
        if (sent.endsWith('half')) await exchange.write('half');
        await received.promise;
        exchange.reset();
      },
    });
    using client = await rawClient(server.port);
    client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    if (sent !== '') await client.until(sent);
    received.resolve();
    assert.deepEqual(await client.ended(), { received: sent, code: 'ECONNRESET' });
    await server.waitForOpen(0);
    assert.equal(server.requests[0]?.outcome, 'aborted');
  }
});

test('idle connections can be ended by FIN or RST, and those in use are left alone', async () => {
  const inHand = Promise.withResolvers<Exchange>();
  await using server = await RecordingServer.listen({
    handle: (exchange) => (exchange.request.path === '/slow' ? inHand.resolve(exchange) : exchange.respond()),
  });
  using busy = await rawClient(server.port);
  busy.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n');
  for (const [how, code] of [
    ['fin', undefined],
    ['rst', 'ECONNRESET'],
  ] as const) {
    using idle = await rawClient(server.port);
    idle.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await idle.until('\r\n\r\n');
    await server.waitForOpen(2);
    server.closeIdle(how);
    assert.equal((await idle.ended()).code, code);
    await server.waitForOpen(1);
  }
  await (await inHand.promise).respond({ body: 'still there' });
  await busy.until('still there');
});

test('bytes that nobody asked for can be sent, and bytes that are not HTTP are recorded', async () => {
  await using server = await RecordingServer.listen();
  using client = await rawClient(server.port);
  await server.waitForOpen(1);
  await server.connections[0]?.write('HTTP/1.1 408 Request Timeout\r\n\r\n');
  await client.until('408');
  client.send('\x16\x03\x01 what is this');
  await client.ended();
  assert.match(String(server.connections[0]?.error), /Parse Error/);
  assert.equal(server.requests.length, 0);
});

test('an error of a handler cuts its exchange and comes out at the end', async () => {
  const server = await RecordingServer.listen({
    handle: () => {
      throw new Error('the handler is wrong');
    },
  });
  using client = await rawClient(server.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.equal((await client.ended()).code, 'ECONNRESET');
  await assert.rejects(
    async () => server[Symbol.asyncDispose](),
    (error: AggregateError) => error.errors.some((each) => /the handler is wrong/.test(String(each))),
  );
});

test('closing cuts what is open and ends what is waited for', async () => {
  const server = await RecordingServer.listen({ handle: () => {} });
  using client = await rawClient(server.port);
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await server.waitForRequests(1);
  const wait = server.waitForOpen(7);
  await Promise.all([
    server[Symbol.asyncDispose](),
    assert.rejects(wait, /closed meanwhile/),
    client.ended(),
  ]);
  assert.equal(server.open, 0);
  await server[Symbol.asyncDispose]();
});

test('a wait that is in vain ends at its limit and says what there was instead', async () => {
  await using server = await RecordingServer.listen();
  await assert.rejects(
    server.waitForOpen(3, { timeoutMs: 20 }),
    /Not within 20 ms: 3 open; there are 0 open/,
  );
});
