/** Each exchange ends once, whatever happens in which phase, and gives back what it had. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import type { Exchange, HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool, directDialer } from '@roundhouse/transport';
import type { ResponseHandler } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import type { CallEvent, CallOptions, Sender } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

const gone = new Error('gone');

/** `/head` gets a head and half a body, `/whole` all, `/silent` nothing. */
async function serve(exchange: Exchange): Promise<void> {
  const { path } = exchange.request;
  if (path === '/head') {
    await exchange.writeHead(200);
    await exchange.write('half');
  } else if (path !== '/silent') {
    await exchange.respond({ body: 'whole' });
  }
}

interface Phase {
  readonly options: CallOptions;
  /** Resolves when the call is in this phase. */
  reach(call: Call, server: RecordingServer): Promise<unknown>;
}

const phases: Readonly<Record<string, Phase>> = {
  'while it dials': { options: { path: '/silent' }, reach: () => turns(0) },
  'while it waits for the head': {
    options: { path: '/silent' },
    reach: (_call, server) => server.waitForRequests(1),
  },
  'while it sends its body': {
    options: { path: '/silent', method: 'POST', body: new Readable({ read: () => undefined }) },
    reach: () => turns(20),
  },
  'with the head': { options: { path: '/head' }, reach: (call) => call.head },
  'in the middle of the body': {
    options: { path: '/head' },
    reach: (call) => until(() => call.body === 'half', 'half'),
  },
  'while it is paused in the middle of the body': {
    options: { path: '/head', on: { head: (call) => call.controller.pause() } },
    reach: (call) => call.head.then(() => turns(20)),
  },
};

for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
  describe(`${protocol}: a request that is given up`, () => {
    for (const [phase, { options, reach }] of Object.entries(phases)) {
      for (const way of ['controller', 'signal'] as const) {
        test(`${phase}, by its ${way}, ends once, and the next one is served`, async () => {
          await using server = await RecordingServer.listen({ protocols: [protocol], handle: serve });
          await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
          using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
          const aborter = new AbortController();
          const body =
            options.body instanceof Readable ? { body: new Readable({ read: () => undefined }) } : {};
          const call = Call.start(lease, { ...options, ...body, signal: aborter.signal });
          await reach(call, server);
          if (way === 'controller') {
            call.controller.abort(gone);
          } else {
            aborter.abort(gone);
          }
          assert.equal(call.events.at(-1), 'error');
          assert.equal(call.code, way === 'controller' ? 'gone' : 'ERR_RH_ABORTED');
          call.controller.abort(new Error('again'));
          assert.equal(await Call.text(lease), 'whole');
          await pool.close();
          await server.waitForOpen(0);
        });
      }
    }

    test('after the response has come whole, but before the reader has taken it, ends once', async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol], handle: serve });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const call = Call.start(lease, { on: { head: ({ controller }) => controller.pause() } });
      await call.head;
      await until(() => pool.inspect().transports[0]?.requests === 0, 'the exchange over');
      assert.deepEqual(call.events, ['start', 'head']);
      call.controller.abort(gone);
      call.controller.resume();
      assert.deepEqual(call.events, ['start', 'head', 'error']);
      assert.equal(await Call.text(lease), 'whole');
      assert.equal(server.accepted, 1);
    });

    test('while it waits for a connection ends once and never reaches the server', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        maxConcurrentStreams: 1,
        handle: serve,
      });
      await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      await Call.text(lease);
      const first = Call.start(lease, { path: '/head' });
      await first.head;
      const waiting = Call.start(lease, { path: '/never' });
      waiting.controller.abort(gone);
      assert.deepEqual(waiting.events, ['start', 'error']);
      first.controller.abort(gone);
      assert.equal(await Call.text(lease), 'whole');
      assert.ok(server.requests.every((request) => request.path !== '/never'));
    });

    test('from within each of its callbacks ends once', async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol], handle: serve });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      for (const event of ['start', 'head', 'data', 'end', 'error'] as const satisfies CallEvent[]) {
        const call = Call.start(lease, {
          on: {
            head: (self) => event === 'error' && self.controller.abort(gone),
            [event]: (self: Call) => self.controller.abort(gone),
          },
        });
        await call.ended;
        assert.equal(call.events.at(-1), event === 'end' ? 'end' : 'error', event);
      }
      assert.equal(await Call.text(lease), 'whole');
    });
  });

  describe(`${protocol}: a handler`, () => {
    for (const method of ['onRequestStart', 'onResponseStart', 'onResponseData'] as const) {
      test(`that throws in ${method} fails its own request with what it threw, and nothing else`, async () => {
        await using server = await RecordingServer.listen({ protocols: [protocol], handle: serve });
        await using pool = new TransportPool();
        using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
        const beside = Call.start(lease);
        const { promise, resolve } = Promise.withResolvers<Error>();
        send(lease, {
          [method]: () => {
            throw gone;
          },
          onResponseError: (_controller, error) => resolve(error),
        });
        assert.equal(await promise, gone);
        await beside.ended;
        assert.equal(beside.body, 'whole');
        assert.equal(await Call.text(lease), 'whole');
      });
    }

    for (const method of ['onResponseEnd', 'onResponseError'] as const) {
      test(`that throws in ${method} is reported as the bug that it is, and the pool goes on`, async () => {
        await using server = await RecordingServer.listen({ protocols: [protocol], handle: serve });
        await using pool = new TransportPool();
        using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
        const reported = uncaught();
        send(
          lease,
          {
            [method]: () => {
              throw gone;
            },
          },
          method === 'onResponseError' ? '/head' : '/',
          (controller) => method === 'onResponseError' && controller.abort(new Error('enough')),
        );
        assert.equal(await reported, gone);
        assert.equal(await Call.text(lease), 'whole');
        await pool.close();
      });
    }

    test('may send further requests from within each of its callbacks', async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol], handle: serve });
      await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 2 } });
      const identity = pool.identity('x', Endpoint.from({ url: server.url, alpn: protocol }));
      const further: Call[] = [];
      const more = (): void => void further.push(Call.start(identity));
      const call = Call.start(identity, { on: { start: more, head: more, data: more, end: more } });
      const failed = Call.start(identity, {
        path: '/head',
        on: { head: ({ controller }) => controller.abort(gone), error: more },
      });
      await Promise.all([call.ended, failed.ended]);
      await Promise.all(further.map((other) => other.ended));
      assert.deepEqual(
        further.map((other) => other.body),
        Array(5).fill('whole'),
      );
    });
  });

  describe(`${protocol}: a body stream`, () => {
    const sources: Readonly<Record<string, (body: Readable) => void>> = {
      'that fails': (body) => body.destroy(new Error('disk gone')),
      'that is closed early': (body) => body.destroy(),
    };
    for (const [what, break_] of Object.entries(sources)) {
      for (const phase of ['before it is sent', 'when part of it is sent'] as const) {
        test(`${what} ${phase} fails its request with ERR_RH_REQUEST_BODY`, async () => {
          await using server = await RecordingServer.listen({
            protocols: [protocol],
            handle: () => undefined,
          });
          const opened = Promise.withResolvers<void>();
          const dialer = {
            id: 'when told',
            dial: async (...all: Parameters<typeof directDialer.dial>) => {
              await opened.promise;
              return directDialer.dial(...all);
            },
          };
          await using pool = new TransportPool();
          using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol, dialer }));
          const body = new Readable({ read: () => undefined });
          if (phase === 'when part of it is sent') {
            opened.resolve();
            body.push('part');
          }
          const call = Call.start(lease, { method: 'POST', body });
          if (phase === 'when part of it is sent') {
            await server.waitUntil(() => server.requests[0]?.bodyBytes === 4, 'part of the body');
          }
          break_(body);
          await call.ended;
          assert.equal(call.code, 'ERR_RH_REQUEST_BODY');
          if (what === 'that fails') {
            assert.match(String(call.error?.cause), /disk gone/);
          }
          opened.resolve();
        });
      }
    }

    test("that is a server's request leaves its client the connection on which the answer is due", async () => {
      await using upstream = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.connection.reset(),
      });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: upstream.url, alpn: protocol }));
      const front = http.createServer((request, response) => {
        const call = Call.start(lease, { method: 'POST', body: request });
        void call.ended.then(() => response.writeHead(502).end(call.code));
      });
      front.listen(0, '127.0.0.1');
      await once(front, 'listening');
      const address = front.address();
      assert.ok(typeof address === 'object' && address !== null);
      const client = http.request({ port: address.port, method: 'POST', agent: false });
      client.write('the first part');
      const [answer] = (await once(client, 'response')) as [http.IncomingMessage];
      assert.deepEqual([answer.statusCode, await text(answer)], [502, 'ERR_RH_CONNECTION_LOST']);
      client.destroy();
      front.close();
      await once(front, 'close');
    });

    test('that was used before is refused', async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol] });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const body = Readable.from(['x'], { objectMode: false });
      await Call.text(lease, { method: 'POST', body });
      assert.equal(await Call.code(lease, { method: 'POST', body }), 'ERR_RH_REQUEST_BODY');
    });

    test('whose server breaks off is not the one to blame', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.connection.reset(),
      });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
      const body = new Readable({
        read() {
          setImmediate(() => this.push(Buffer.alloc(65_536)));
        },
      });
      const call = Call.start(lease, { method: 'POST', body });
      await call.ended;
      assert.equal(call.code, 'ERR_RH_CONNECTION_LOST');
      await until(() => body.destroyed, 'the body ended, too');
    });
  });
}

test('a request whose signal is aborted already never starts', async () => {
  await using pool = new TransportPool();
  using lease = pool.lease(Endpoint.from({ url: 'http://never.test' }));
  const call = Call.start(lease, { signal: AbortSignal.abort(gone) });
  assert.deepEqual(call.events, ['error']);
  assert.equal(call.code, 'ERR_RH_ABORTED');
  assert.equal(pool.inspect().transports[0]?.dials, 0);
});

test('whoever retries at once after a failed dial dials anew each time', async () => {
  let dials = 0;
  const dialer = {
    id: 'refuses',
    dial: () => {
      dials += 1;
      return Promise.reject(new Error('refused'));
    },
  };
  await using pool = new TransportPool({ limits: { breakerThreshold: 0 } });
  using lease = pool.lease(Endpoint.from({ url: 'http://refuses.test', dialer }));
  const attempt = async (left: number): Promise<void> => {
    let next: Promise<void> | undefined;
    const call = Call.start(lease, {
      on: {
        error: () => {
          next = left > 0 ? attempt(left - 1) : undefined;
        },
      },
    });
    await call.ended;
    await next;
  };
  await attempt(20);
  assert.equal(dials, 21);
});

function send(
  sender: Sender,
  handler: Partial<ResponseHandler>,
  path = '/',
  started: (controller: Call['controller']) => void = () => undefined,
): void {
  sender.dispatch({ method: 'GET', path, headers: [] }, {
    onResponseStart: started,
    ...handler,
  } satisfies ResponseHandler);
}

/** What would have ended the process. */
function uncaught(): Promise<Error> {
  const { promise, resolve } = Promise.withResolvers<Error>();
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.once('uncaughtException', (error) => {
    for (const listener of others) {
      process.on('uncaughtException', listener);
    }
    resolve(error);
  });
  return promise;
}
