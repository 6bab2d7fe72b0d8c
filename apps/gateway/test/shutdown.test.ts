import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { text } from 'node:stream/consumers';
import { ask, dial, dialHttp2, open, openHttp2 } from './support/clients.ts';
import { openRig } from './support/gateway-rig.ts';

const path = '/clusters/alpha/version';
const watchPath = '/clusters/alpha/api/v1/pods?watch=1';
const event = '{"type":"ADDED","object":{}}\n';

test('BB-33: on shutdown, hot connections get every answer, the last one with Connection: close', async (t) => {
  const { gateway, upstream } = await openRig(t, { limits: { drainTimeoutMs: 10_000 } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const agents = Array.from({ length: 10 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  t.after(() => agents.forEach((each) => each.destroy()));
  let answered = 0;
  let refusedDials = 0;
  let closing: Promise<void> | undefined;
  await Promise.all(
    agents.map(async (each) => {
      for (;;) {
        const outgoing = request(`${gateway.url}${path}`, { agent: each });
        outgoing.end();
        try {
          const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
          assert.equal(await text(response), 'ok');
          answered += 1;
          if (response.headers.connection === 'close') return;
          assert.ok(closing === undefined || answered < 2_000, 'the notice never came');
        } catch (error) {
          // Only a new connection may be refused; one that was there must be served to the end.
          assert.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED');
          refusedDials += 1;
          return;
        }
        if (answered > 100) closing ??= gateway.close();
      }
    }),
  );
  await closing;
  assert.equal(refusedDials, 0);
  assert.equal(upstream.requests.length, answered);
  await upstream.waitForOpen(0);
});

test('what is under way may end, watches end in order at the limit, and nothing is left', async (t) => {
  let finish: (() => Promise<void>) | undefined;
  const { gateway, upstream, log } = await openRig(t, {
    limits: { drainTimeoutMs: 600 },
    handle: async (exchange) => {
      if (exchange.request.path.includes('watch')) {
        await exchange.writeHead(200, { 'content-type': 'application/json' });
        await exchange.write(event);
        return;
      }
      finish = () => exchange.respond({ body: 'late' });
    },
  });
  const watching = await open(gateway.url, watchPath);
  const running = ask(gateway.url, path);
  await upstream.waitForRequests(2);
  const started = performance.now();
  const closing = gateway.close();
  assert.equal((await ask(gateway.adminUrl, '/readyz')).status, 500);
  assert.equal((await ask(gateway.adminUrl, '/livez')).status, 200);
  await assert.rejects(dial(gateway.url), { code: 'ECONNREFUSED' });
  await finish?.();
  const answer = await running;
  assert.deepEqual([answer.status, answer.body, answer.headers.connection], [200, 'late', 'close']);
  assert.equal(await text(watching), event);
  assert.equal(watching.complete, true, 'a watch ends as if the cluster had ended it');
  assert.ok(performance.now() - started >= 550, 'it was given the whole time');
  await closing;
  await upstream.waitForOpen(0);
  assert.equal(log.at(-1)?.['msg'], 'closed');
  assert.equal(log.at(-1)?.['hung'], undefined);
});

test('an event that is half sent at the limit is broken off and not passed off as whole', async (t) => {
  const { gateway } = await openRig(t, {
    limits: { drainTimeoutMs: 100 },
    handle: async (exchange) => {
      await exchange.writeHead(200, { 'content-type': 'application/json' });
      await exchange.write('{"type":"ADD');
    },
  });
  const watching = await open(gateway.url, watchPath);
  watching.resume();
  const closed = new Promise((resolve) => watching.once('close', resolve));
  await gateway.close();
  await closed;
  assert.equal(watching.complete, false);
});

test('a request that is not answered by the limit gets a 503', async (t) => {
  const { gateway, upstream } = await openRig(t, { limits: { drainTimeoutMs: 100 }, handle: () => {} });
  const running = ask(gateway.url, path);
  await upstream.waitForRequests(1);
  await gateway.close();
  assert.equal((await running).status, 503);
});

test('over HTTP/2 the client hears GOAWAY, streams end in order', async (t) => {
  const { gateway, upstream } = await openRig(t, {
    tls: true,
    tokens: ['good,joe,,'],
    limits: { drainTimeoutMs: 300 },
    handle: async (exchange) => {
      await exchange.writeHead(200, { 'content-type': 'application/json' });
      await exchange.write(event);
    },
  });
  await using session = await dialHttp2(gateway.url);
  const { stream } = await openHttp2(session, { ':path': watchPath, authorization: 'Bearer good' });
  const goaway = once(session, 'goaway');
  const body = text(stream);
  const closing = gateway.close();
  const [code] = await goaway;
  assert.equal(code, 0);
  assert.equal(await body, event);
  assert.equal(stream.rstCode, 0);
  await closing;
  await upstream.waitForOpen(0);
});

test('over HTTP/2 the notice comes at once, while a stream goes on, and what is on its way is still served', async (t) => {
  const { gateway } = await openRig(t, {
    tls: true,
    tokens: ['good,joe,,'],
    handle: async (exchange) => {
      await exchange.writeHead(200, { 'content-type': 'application/json' });
      await exchange.write(event);
    },
  });
  await using session = await dialHttp2(gateway.url);
  const { stream } = await openHttp2(session, { ':path': watchPath, authorization: 'Bearer good' });
  const goaway = once(session, 'goaway', { signal: AbortSignal.timeout(10_000) });
  // Far beyond the notice: what ends the session at the limit would say GOAWAY, too.
  const closing = gateway.close({ timeoutMs: 60_000 });
  const [code, lastStreamId] = await goaway;
  assert.equal(code, 0);
  assert.equal(lastStreamId, 2 ** 31 - 1);
  assert.equal(stream.closed, false);
  // It closes when its data have been read.
  stream.resume();
  stream.close(constants.NGHTTP2_CANCEL);
  await closing;
});

test('idle connections and a half-sent head do not hold the end up', async (t) => {
  const { gateway } = await openRig(t, { limits: { drainTimeoutMs: 60_000 } });
  const idle = await dial(gateway.url);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const outgoing = request(`${gateway.url}${path}`, { agent });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  await text(response);
  const started = performance.now();
  await Promise.all([gateway.close(), new Promise((resolve) => idle.once('close', resolve))]);
  assert.ok(performance.now() - started < 8_000);
});

test('BB-33: an idle connection of a client outlives the minute of the balancers', async (t) => {
  const { gateway } = await openRig(t, { limits: { keepAliveTimeoutMs: 400 } });
  const socket = await dial(gateway.url);
  const { host } = new URL(gateway.url);
  const send = async (): Promise<string> => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    return String(answer);
  };
  assert.match(await send(), /^HTTP\/1\.1 200 .*Keep-Alive: timeout=/s);
  // Scaled: 0.2 s of 0.4 s stand for 60 s of 75 s, the default that options.test.ts holds.
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.match(await send(), /^HTTP\/1\.1 200 /);
  await new Promise((resolve) => socket.once('close', resolve));
});

test('closing twice is closing once', async (t) => {
  const { gateway } = await openRig(t);
  assert.equal(gateway.close(), gateway.close());
  await gateway.close();
});
