import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Exchange, Handler } from '@roundhouse/simulators';
import { ask, dial, dialHttp2, open, openHttp2, statusIn } from './support/clients.ts';
import { callersAuthority, openRig } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';

const watchPath = '/clusters/alpha/api/v1/pods?watch=1';
const logPath = '/clusters/alpha/api/v1/namespaces/web/pods/p/log?follow=true';
const event = `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p"}}}\n`;
const json = { 'content-type': 'application/json' };

const jane = await callersAuthority.issue({ commonName: 'jane', usage: 'client' });
const janesKey = { cert: jane.certPem, key: jane.keyPem };

/** The next piece of the body; undefined at its end. */
async function next(body: Readable): Promise<Buffer | undefined> {
  for (;;) {
    const chunk: Buffer | null = body.read();
    if (chunk !== null) return chunk;
    if (body.readableEnded) return undefined;
    await new Promise((resolve) => {
      for (const name of ['readable', 'end', 'close']) body.once(name, resolve);
    });
    if (body.destroyed) return undefined;
  }
}

/** Whether a body came to a good end, as its client can tell. */
async function endsWell(body: Readable): Promise<boolean> {
  body.on('error', () => undefined);
  body.resume();
  if (!body.closed) await new Promise((resolve) => body.once('close', resolve));
  return body instanceof IncomingMessage ? body.complete : (body as ClientHttp2Stream).rstCode === 0;
}

/** Opens the path over either protocol: status and body. */
async function openOver(
  protocol: 'http/1.1' | 'h2',
  { gateway }: Rig,
  path: string,
  stack: AsyncDisposableStack,
): Promise<{ status: number; body: Readable; leave: () => void }> {
  if (protocol === 'http/1.1') {
    const response = await open(gateway.url, path, janesKey);
    return { status: response.statusCode ?? 0, body: response, leave: () => response.destroy() };
  }
  const session = stack.use(await dialHttp2(gateway.url, janesKey));
  const { status, stream } = await openHttp2(session, { ':path': path });
  return { status, body: stream, leave: () => stream.close(8) };
}

for (const protocol of ['http/1.1', 'h2'] as const) {
  test(`BB-56: over ${protocol} the head of a watch and each event arrive at once, coded or not`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const pieces = { plain: Buffer.from(event), coded: gzipSync(event) };
    const headers = { plain: json, coded: { ...json, 'content-encoding': 'gzip' } };
    for (const form of ['plain', 'coded'] as const) {
      const watching = Promise.withResolvers<Exchange>();
      const rig = await openRig(t, {
        tls: true,
        handle: async (exchange) => {
          await exchange.writeHead(200, headers[form]);
          watching.resolve(exchange);
        },
      });
      // The cluster has sent nothing but its head, and will not until it is asked to.
      const { status, body } = await openOver(protocol, rig, watchPath, stack);
      assert.equal(status, 200);
      const exchange = await watching.promise;
      for (let count = 0; count < 3; count += 1) {
        const started = performance.now();
        await exchange.write(pieces[form]);
        const chunk = await next(body);
        assert.ok(performance.now() - started < 200, 'an event took longer than 200 ms');
        assert.deepEqual(chunk, pieces[form]);
      }
    }
  });

  test(`over ${protocol} a client that leaves ends the request to the cluster`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const rig = await openRig(t, {
      tls: true,
      handle: async (exchange) => {
        if (exchange.request.path.includes('watch')) await exchange.writeHead(200, json);
      },
    });
    const { leave } = await openOver(protocol, rig, watchPath, stack);
    leave();
    await rig.upstream.waitUntil(() => rig.upstream.requests[0]?.outcome === 'aborted', 'the watch aborted');
    const [line] = await rig.requestLines(1);
    assert.equal(line?.['code'], 499);
    assert.equal(line?.['error'], 'ERR_RH_CLIENT_GONE');
  });

  test(`over ${protocol} an answer that the cluster breaks off never ends in good order`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const forms: Record<string, Handler> = {
      length: async (exchange) => {
        await exchange.writeHead(200, { 'content-length': '1000' });
        await exchange.write('half');
        exchange.reset();
      },
      chunks: async (exchange) => {
        await exchange.writeHead(200, json);
        await exchange.write(event);
        exchange.reset();
      },
      finished: async (exchange) => {
        await exchange.writeHead(200, json);
        await exchange.write(event);
        exchange.connection.finish();
      },
    };
    for (const [form, handle] of Object.entries(forms)) {
      const rig = await openRig(t, { tls: true, handle });
      for (const path of ['/clusters/alpha/api/v1/pods', watchPath, logPath]) {
        const { status, body } = await openOver(protocol, rig, path, stack);
        assert.equal(status, 200);
        assert.equal(await endsWell(body), false, `${form} ${path}`);
      }
    }
  });

  test(`BB-59: over ${protocol} a client that reads nothing holds the cluster back, and others go on`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const chunk = Buffer.alloc(65_536, `${'x'.repeat(1_023)}\n`);
    let given = 0;
    const rig = await openRig(t, {
      tls: true,
      handle: async (exchange) => {
        await exchange.writeHead(200, json);
        if (!exchange.request.path.includes('fast')) {
          await exchange.write(event);
          return;
        }
        while (!exchange.signal.aborted && given < 5_000) {
          given += 1;
          await exchange.write(chunk);
          await turn();
        }
      },
    });
    const before = process.memoryUsage.rss();
    const stalled = await Promise.all(
      Array.from({ length: 5 }, () => openOver(protocol, rig, `${watchPath}&fast`, stack)),
    );
    for (const { body } of stalled) body.pause();
    // The cluster gives until nothing moves any more.
    for (let last = -1; last !== given;) {
      last = given;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    assert.ok(
      given < 2_500,
      `the cluster could give ${given} pieces of 64 KiB to five clients that read nothing`,
    );
    const risen = process.memoryUsage.rss() - before;
    assert.ok(risen < 5 * 8 * 1024 * 1024 + 64 * 1024 * 1024, `RSS rose by ${Math.round(risen / 1e6)} MB`);
    const started = performance.now();
    const healthy = await openOver(protocol, rig, watchPath, stack);
    assert.equal(String(await next(healthy.body)), event);
    assert.ok(performance.now() - started < 500);
    for (const { leave } of stalled) leave();
    healthy.leave();
    await rig.requestLines(6);
  });
}

for (const protocol of ['http/1.1', 'h2'] as const) {
  test(`over ${protocol} neither the head of a short answer nor a piece of its body waits for the next one`, async (t) => {
    await using stack = new AsyncDisposableStack();
    const answering = Promise.withResolvers<Exchange>();
    const rig = await openRig(t, {
      tls: true,
      handle: async (exchange) => {
        // At once, so that the first piece comes with the head.
        await Promise.all([exchange.writeHead(200), exchange.write('zero')]);
        answering.resolve(exchange);
      },
    });
    // Each time the cluster goes on only when its client has what came before.
    const { status, body } = await openOver(protocol, rig, '/clusters/alpha/api/v1/pods', stack);
    assert.equal(status, 200);
    const exchange = await answering.promise;
    assert.equal(String(await next(body)), 'zero');
    for (const piece of ['one', 'two', 'three']) {
      await exchange.write(piece);
      assert.equal(String(await next(body)), piece);
    }
    await exchange.end();
    assert.equal(await next(body), undefined);
    const [line] = await rig.requestLines(1);
    assert.equal(line?.['bytesOut'], 15);
  });
}

test('BB-59: a client that takes nothing for too long is cut', async (t) => {
  const rig = await openRig(t, {
    limits: { clientStallTimeoutMs: 300 },
    handle: async (exchange) => {
      await exchange.writeHead(200, json);
      while (!exchange.signal.aborted) {
        await exchange.write(Buffer.alloc(65_536, 'x'));
        await turn();
      }
    },
  });
  const response = await open(rig.gateway.url, watchPath);
  const [line] = await rig.requestLines(1);
  assert.equal(line?.['error'], 'ERR_RH_CLIENT_STALLED');
  assert.equal(await endsWell(response), false);
  await rig.upstream.waitForOpen(0);
});

test('BB-54: a quiet stream outlives the limit of short requests many times, a short request does not', async (t) => {
  const limitMs = 150;
  let send: (() => Promise<void>) | undefined;
  const rig = await openRig(t, {
    limits: { requestTimeoutMs: limitMs, uploadSilenceMs: limitMs },
    handle: async (exchange) => {
      if (!/watch|follow/.test(exchange.request.path)) return;
      await exchange.writeHead(200, json);
      send = () => exchange.write('x\n');
    },
  });
  for (const path of [watchPath, logPath]) {
    const response = await open(rig.gateway.url, path);
    // Seven times the limit of short requests, in which not a byte moves.
    const quiet = new Promise((resolve) => setTimeout(resolve, 7 * limitMs));
    const answer = await ask(rig.gateway.url, '/clusters/alpha/version');
    assert.equal(answer.status, 504);
    assert.equal(statusIn(answer.body).error, 'ERR_RH_REQUEST_TIMEOUT');
    assert.equal(statusIn(answer.body).reason, 'Timeout');
    await quiet;
    await send?.();
    assert.equal(String(await next(response)), 'x\n');
    response.destroy();
  }
  const streams = rig.upstream.requests.filter(({ path }) => /watch|follow/.test(path));
  assert.equal(streams.length, 2, 'no stream was opened twice');
});

test('BB-53: a watch that outlives what it asked for is ended, and its client is told', async (t) => {
  const rig = await openRig(t, {
    limits: { watchLifetimeMs: 1_000 },
    handle: async (exchange) => {
      await exchange.writeHead(200, json);
      await exchange.write(event);
    },
  });
  const response = await open(rig.gateway.url, watchPath);
  const pieces: Buffer[] = [];
  for (let piece = await next(response); piece !== undefined; piece = await next(response))
    pieces.push(piece);
  const lines = Buffer.concat(pieces).toString().trimEnd().split('\n');
  assert.equal(`${lines[0]}\n`, event);
  const last = JSON.parse(lines[1] ?? '');
  assert.equal(last.type, 'ERROR');
  assert.equal(last.object.code, 504);
  assert.equal(last.object.details.causes[0].reason, 'ERR_RH_STREAM_SILENT');
  await rig.upstream.waitUntil(() => rig.upstream.requests[0]?.outcome === 'aborted', 'the watch aborted');
});

test('BB-53: in the middle of an event, or in another encoding, the watch is broken off instead', async (t) => {
  for (const [headers, piece] of [
    [json, '{"type":"ADD'],
    [{ 'content-type': 'application/vnd.kubernetes.protobuf;stream=watch' }, 'k8s\n'],
    [{ ...json, 'content-encoding': 'gzip' }, 'coded\n'],
  ] as const) {
    const rig = await openRig(t, {
      limits: { watchLifetimeMs: 1_000 },
      handle: async (exchange) => {
        await exchange.writeHead(200, headers);
        await exchange.write(piece);
      },
    });
    const response = await open(rig.gateway.url, watchPath);
    assert.equal(await endsWell(response), false);
  }
});

test('an upload is read only as fast as the cluster takes it, and given up when it takes nothing', async (t) => {
  const rig = await openRig(t, {
    upstream: { holdBodies: true },
    limits: { uploadSilenceMs: 1_000 },
    handle: () => {},
  });
  const path = '/clusters/alpha/api/v1/namespaces/web/services/s/proxy/upload';
  const { host } = new URL(rig.gateway.url);
  const socket = await dial(rig.gateway.url);
  socket.write(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000000000\r\n\r\n`);
  const piece = Buffer.alloc(65_536);
  let written = 0;
  const lines: Record<string, unknown>[] = [];
  const ended = rig.requestLines(1).then((all) => lines.push(...all));
  while (lines.length === 0) {
    assert.ok(written < 64 * 1024 * 1024, `${written} bytes went up although the cluster read none`);
    written += piece.length;
    if (!socket.write(piece))
      await Promise.race([ended, new Promise((resolve) => socket.once('drain', resolve))]);
  }
  assert.equal(lines[0]?.['error'], 'ERR_RH_UPLOAD_STALLED');
  assert.equal(lines[0]?.['code'], 504);
  socket.destroy();
});

test('a client that stops sending its body is given up', async (t) => {
  const rig = await openRig(t, { limits: { uploadSilenceMs: 150 }, handle: () => {} });
  const { host } = new URL(rig.gateway.url);
  const socket = await dial(rig.gateway.url);
  socket.write(
    `POST /clusters/alpha/api/v1/namespaces/web/pods HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 10\r\n\r\nhalf`,
  );
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 408 /);
  socket.destroy();
  await rig.upstream.waitForOpen(0);
});
