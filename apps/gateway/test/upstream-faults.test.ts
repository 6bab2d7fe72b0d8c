/** What a client of the gateway sees when a cluster, or the way to it, fails under its request: over both protocols upstream. */

import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Relay } from '@roundhouse/simulators';
import type { Exchange } from '@roundhouse/simulators';
import { ask, open, statusIn } from './support/clients.ts';
import { contextFor, listenUpstream, openRig } from './support/gateway-rig.ts';
import type { Rig, RigOptions } from './support/gateway-rig.ts';

const both = ['h2', 'http/1.1'] as const;
const alpns = ['http/1.1', 'h2'] as const;
const objectPath = '/clusters/alpha/api/v1/namespaces/a/configmaps/c';
const watchPath = '/clusters/alpha/api/v1/pods?watch=1';
const json = { 'content-type': 'application/json' };
const text = JSON.stringify({ data: 'x'.repeat(300_000) });

const openBoth = (t: TestContext, options: RigOptions = {}): Promise<Rig> =>
  openRig(t, { ...options, upstream: { protocols: both, keepBodyBytes: 1_000_000, ...options.upstream } });

const send = ({ gateway }: Rig, method: string, body?: string) =>
  ask(gateway.url, objectPath, {
    method,
    fields: ['Content-Type', 'application/json'],
    ...(body !== undefined && { body }),
  });

const reset = (exchange: Exchange): void => exchange.connection.reset();

for (const upstreamAlpn of alpns) {
  test(`BB-32: over ${upstreamAlpn} a 503 of the cluster is the client's, with its body and Retry-After; its next try is sent whole, on the same connection`, async (t) => {
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', text],
      ['POST', text],
      ['PATCH', text],
    ] as const) {
      let asked = 0;
      const rig = await openBoth(t, {
        upstreamAlpn,
        handle: async (exchange) => {
          await exchange.readBody();
          asked += 1;
          await (asked === 1
            ? exchange.respond({
                status: 503,
                headers: { ...json, 'retry-after': '1' },
                body: '{"kind":"Status"}',
              })
            : exchange.respond({ headers: json, body: '{}' }));
        },
      });
      const first = await send(rig, method, body);
      assert.deepEqual(
        [first.status, first.headers['retry-after'], first.body],
        [503, '1', '{"kind":"Status"}'],
      );
      assert.equal(rig.upstream.received, 1, 'the gateway asks once');
      assert.equal((await send(rig, method, body)).status, 200);
      assert.deepEqual(
        rig.upstream.requests.map((request) => request.body.toString() === (body ?? '')),
        [true, true],
      );
      assert.equal(rig.upstream.secured, 1, 'no new handshake');
    }
  });

  for (const when of ['after the head', 'after half of the body'] as const) {
    test(`BB-32: over ${upstreamAlpn} a reset ${when}: what changes something is sent once and is a 502, a GET is asked again`, async (t) => {
      for (const method of ['GET', 'PUT', 'POST', 'PATCH']) {
        let resets = 0;
        const rig = await openBoth(t, {
          upstreamAlpn,
          upstream: { holdBodies: true },
          handle: async (exchange) => {
            if (exchange.request.path.endsWith('/version') || resets > 0) {
              await exchange.readBody();
              await exchange.respond({ headers: json, body: '{}' });
              return;
            }
            resets += 1;
            if (when === 'after half of the body' && method !== 'GET') {
              void exchange.readBody().catch(() => undefined);
              while (exchange.request.bodyBytes === 0) {
                await new Promise(setImmediate);
              }
            }
            reset(exchange);
          },
        });
        await ask(rig.gateway.url, '/clusters/alpha/version');
        const answer = await send(rig, method, method === 'GET' ? undefined : text);
        const asked = rig.upstream.requests.filter(({ path }) => path.endsWith('/c')).length;
        if (method === 'GET') {
          assert.deepEqual([answer.status, asked], [200, 2]);
        } else {
          assert.deepEqual([answer.status, asked], [502, 1], method);
          assert.equal(statusIn(answer.body).error, 'ERR_RH_CONNECTION_STALE');
        }
      }
    });
  }

  test(`BB-34: over ${upstreamAlpn} watches whose connection is reset end at once, and the next watch, asked for in that moment, is served`, async (t) => {
    const watched: Exchange[] = [];
    const rig = await openBoth(t, {
      upstreamAlpn,
      handle: async (exchange) => {
        watched.push(exchange);
        await exchange.writeHead(200, json);
        await exchange.write('{"type":"ADDED","object":{}}\n');
        // Never whole: the reset comes in the middle of a write.
        void exchange.write(Buffer.alloc(1_000_000)).catch(() => undefined);
      },
    });
    for (let round = 0; round < 20; round += 1) {
      const watches = await Promise.all(Array.from({ length: 5 }, () => open(rig.gateway.url, watchPath)));
      const next = Promise.all(
        watches.map(async (watch) => {
          watch.resume();
          await new Promise((resolve) => watch.once('close', resolve));
          assert.equal(watch.complete, false, 'a watch that is broken off does not end in good order');
          const again = await open(rig.gateway.url, watchPath);
          again.destroy();
          return again.statusCode;
        }),
      );
      for (const exchange of watched.splice(0)) {
        reset(exchange);
      }
      assert.deepEqual([...new Set(await next)], [200]);
      // Of those that were left, so that the rounds are alike.
      for (const exchange of watched.splice(0)) {
        await exchange.closed;
      }
    }
    // Neither side keeps anything of them, but for what is idle and as good as new.
    const settled = (): boolean => {
      const { streams, connections } = rig.gateway.inspect().transports[0]!;
      return (
        streams + connections.active + connections.draining === 0 && rig.upstream.open === connections.idle
      );
    };
    while (!settled()) {
      await new Promise(setImmediate);
    }
    assert.equal(rig.log.filter(({ level }) => level === 'fatal').length, 0);
  });
}

test('BB-32: a stream that a cluster refuses before it looks at it is asked for again, a write whose body is on its way is not', async (t) => {
  let refusals = 0;
  const rig = await openBoth(t, {
    upstreamAlpn: 'h2',
    handle: async (exchange) => {
      if (refusals === 0) {
        refusals += 1;
        exchange.reset(constants.NGHTTP2_REFUSED_STREAM);
      } else {
        await exchange.readBody();
        await exchange.respond({ headers: json, body: '{}' });
      }
    },
  });
  assert.equal((await send(rig, 'GET')).status, 200);
  refusals = 0;
  const { status, body } = await send(rig, 'POST', text);
  if (status === 200) {
    assert.equal(rig.upstream.requests.at(-1)?.body.toString(), text);
  } else {
    assert.deepEqual([status, statusIn(body).error], [503, 'ERR_RH_REFUSED']);
  }
});

test('BB-23: a network that is lost without a sign ends watches within its bounds, and the next one is served', async (t) => {
  await using server = await listenUpstream({
    protocols: both,
    handle: (exchange) => exchange.writeHead(200, json),
  });
  await using relay = await Relay.listen({ target: server });
  const { gateway } = await openRig(t, {
    limits: { pingAfterMs: 200, pingTimeoutMs: 400 },
    contexts: () => ({ alpha: contextFor({ url: `https://127.0.0.1:${relay.port}` }) }),
  });
  const watches = await Promise.all(Array.from({ length: 20 }, () => open(gateway.url, watchPath)));
  assert.equal(relay.accepted, 1);
  relay.freeze();
  await Promise.all(
    watches.map(async (watch) => {
      watch.resume();
      await new Promise((resolve) => watch.once('close', resolve));
      assert.equal(watch.complete, false, 'it does not end in good order');
    }),
  );
  relay.thaw();
  const next = await open(gateway.url, watchPath);
  assert.equal(next.statusCode, 200);
  assert.equal(relay.accepted, 2);
  const metrics = (await ask(gateway.adminUrl, '/metrics')).body;
  assert.match(metrics, /^roundhouse_transport_unanswered_pings_total 1$/m);
});
