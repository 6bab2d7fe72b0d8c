/** The pool behind undici's interface: `fetch` and `request` work as with an agent of undici's own. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { fetch, request } from 'undici';
import { Endpoint, RoundhouseError, TransportPool } from '@roundhouse/transport';
import { endsWithNothingOpen } from './rig/open-handles.ts';

endsWithNothingOpen();

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
  describe(`${protocol}: the dispatcher`, () => {
    test('carries fetch: bodies both ways, query, repeated fields, abort', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: async (exchange) => {
          if (exchange.request.path === '/silent') return;
          await exchange.respond({ headers: { 'x-a': ['1', '2'] }, body: await exchange.readBody() });
        },
      });
      await using pool = new TransportPool();
      const dispatcher = pool.dispatcher({ alpn: protocol });
      const echoed = await fetch(`${server.url}/a?b=c`, { method: 'POST', body: 'hello', dispatcher });
      assert.equal(await echoed.text(), 'hello');
      assert.equal(echoed.headers.get('x-a'), '1, 2');
      assert.equal(server.requests[0]?.path, '/a?b=c');
      const streamed = await fetch(server.url, {
        method: 'POST',
        body: new Blob(['from ', 'a stream']).stream(),
        duplex: 'half',
        dispatcher,
      });
      assert.equal(await streamed.text(), 'from a stream');
      const aborter = new AbortController();
      const pending = fetch(`${server.url}/silent`, { signal: aborter.signal, dispatcher });
      await server.waitForRequests(3);
      aborter.abort();
      await assert.rejects(pending, { name: 'AbortError' });
    });

    test('carries request(), with fields flat, keyed or iterable', async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol] });
      await using pool = new TransportPool();
      const dispatcher = pool.dispatcher({ alpn: protocol });
      for (const headers of [
        ['x-list', 'a', 'x-list', 'b'],
        { 'x-list': ['a', 'b'] },
        new Map([['x-list', ['a', 'b']]]),
      ]) {
        const { statusCode, body } = await request(`${server.url}/p?x=1`, {
          dispatcher,
          headers: headers as Record<string, string[]>,
        });
        assert.deepEqual([statusCode, await body.text()], [200, 'ok']);
      }
      for (const seen of server.requests) {
        assert.deepEqual(seen.headerValues('x-list'), ['a', 'b']);
      }
    });

    test('gives errors of the catalogue as the cause of the TypeError of fetch', async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: (exchange) => exchange.reset(),
      });
      await using pool = new TransportPool();
      const dispatcher = pool.dispatcher({ alpn: protocol });
      await assert.rejects(fetch(server.url, { dispatcher }), (error) => {
        const cause = causeOf(error);
        return RoundhouseError.is(cause) && cause.code === 'ERR_RH_CONNECTION_LOST';
      });
    });
  });
}

test('an identity sends to its own origin only, also while its endpoint is still looked for', async () => {
  await using server = await RecordingServer.listen();
  await using pool = new TransportPool();
  const endpoint = Endpoint.from({ url: server.url });
  for (const source of [endpoint, () => Promise.resolve(endpoint)]) {
    const { dispatcher } = pool.identity('alpha', source);
    await assert.rejects(request('http://elsewhere.test', { dispatcher }), {
      code: 'ERR_RH_REQUEST_INVALID',
    });
    assert.equal(await (await request(`${server.url}/`, { dispatcher })).body.text(), 'ok');
  }
  assert.equal(server.requests.length, 2);
});

test('upgrades do not go through it', async () => {
  await using pool = new TransportPool();
  const upgrading = { dispatcher: pool.dispatcher(), upgrade: 'websocket' };
  await assert.rejects(request('http://upgrade.test', upgrading), { code: 'ERR_RH_REQUEST_INVALID' });
});

test('closing a dispatcher closes nothing: the pool owns the connections', async () => {
  await using server = await RecordingServer.listen();
  await using pool = new TransportPool();
  const dispatcher = pool.dispatcher();
  await (await request(server.url, { dispatcher })).body.text();
  await dispatcher.close();
  await dispatcher.destroy();
  assert.equal(await (await request(server.url, { dispatcher })).body.text(), 'ok');
  assert.equal(server.accepted, 1);
});
