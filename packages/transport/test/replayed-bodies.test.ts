/** BB-32: whatever is sent again is sent with the very body, and what may not be sent again is not, however the server fails. */

import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import type { Exchange, HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import type { RequestBody } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { until } from './rig/until.ts';

endsWithNothingOpen();

const text = 'a body of 300,000 bytes. '.repeat(12_000);
const bodies: Readonly<Record<string, { readonly make: () => RequestBody | null; readonly sent: string }>> = {
  none: { make: () => null, sent: '' },
  'a string': { make: () => text, sent: text },
  'a buffer': { make: () => Buffer.from(text), sent: text },
  'a stream': { make: () => Readable.from([text.slice(0, 70_000), text.slice(70_000)]), sent: text },
};
const protocols = ['http/1.1', 'h2'] as const satisfies HttpProtocol[];
const methods = ['GET', 'PUT', 'POST', 'PATCH'] as const;

const headersFor = (sent: string): string[] => ['content-length', String(Buffer.byteLength(sent))];

const bodyOf = async (exchange: Exchange): Promise<string> => {
  await exchange.readBody();
  return exchange.request.body.toString();
};

for (const protocol of protocols) {
  describe(`${protocol}: BB-32: a server that fails once`, () => {
    for (const [what, { make, sent }] of Object.entries(bodies)) {
      for (const method of methods) {
        test(`503 to a ${method} with ${what}: the answer arrives whole, nothing is sent again, and the next try uses the same connection`, async () => {
          const seen: string[] = [];
          await using server = await RecordingServer.listen({
            protocols: [protocol],
            keepBodyBytes: 1_000_000,
            handle: async (exchange) => {
              seen.push(await bodyOf(exchange));
              await (seen.length === 1
                ? exchange.respond({ status: 503, headers: { 'retry-after': '1' }, body: 'overloaded' })
                : exchange.respond({ body: 'ok' }));
            },
          });
          await using pool = new TransportPool();
          using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
          const first = Call.start(lease, { method, headers: headersFor(sent), body: make() });
          await first.ended;
          assert.deepEqual(
            [first.status, first.headers['retry-after'], first.body],
            [503, '1', 'overloaded'],
          );
          assert.equal(seen.length, 1);
          assert.equal(await Call.text(lease, { method, headers: headersFor(sent), body: make() }), 'ok');
          assert.ok(
            seen.every((body) => body === sent),
            'byte for byte',
          );
          assert.equal(server.accepted, 1);
        });
      }
    }

    for (const when of ['after the head', 'after half of the body'] as const) {
      for (const method of methods) {
        test(`a reset ${when} of a ${method}: it was executed once at most, and is sent again only when it is safe and whole`, async () => {
          for (const [what, { make, sent }] of Object.entries(bodies)) {
            let resets = 0;
            const whole: string[] = [];
            await using server = await RecordingServer.listen({
              protocols: [protocol],
              keepBodyBytes: 1_000_000,
              holdBodies: true,
              handle: async (exchange) => {
                if (exchange.request.path === '/first') {
                  await exchange.respond({ body: 'ok' });
                } else if (resets === 0) {
                  resets += 1;
                  if (when === 'after half of the body' && sent !== '') {
                    void exchange.readBody().catch(() => undefined);
                    await until(() => exchange.request.bodyBytes > 0, 'some of the body');
                  }
                  exchange.connection.reset();
                } else {
                  whole.push(await bodyOf(exchange));
                  await exchange.respond({ body: 'ok' });
                }
              },
            });
            await using pool = new TransportPool();
            using lease = pool.lease(Endpoint.from({ url: server.url, alpn: protocol }));
            await Call.text(lease, { path: '/first' });
            const call = Call.start(lease, { method, headers: headersFor(sent), body: make() });
            await call.ended;
            // What a kept-alive connection has lost is asked for once more, if that changes nothing and the body is still there.
            const again = method === 'GET' && what !== 'a stream';
            assert.equal(call.code, again ? undefined : 'ERR_RH_CONNECTION_STALE', `${method} with ${what}`);
            assert.deepEqual(whole.length, again ? 1 : 0, `${method} with ${what}`);
            assert.ok(
              whole.every((body) => body === sent),
              'byte for byte',
            );
          }
        });
      }
    }
  });
}

describe('BB-32: a stream that was refused before it was looked at', () => {
  for (const [what, { make, sent }] of Object.entries(bodies)) {
    test(`is sent again with the very body: ${what}${what === 'a stream' ? ', which is gone by then, so it is told' : ''}`, async () => {
      const seen: string[] = [];
      let refusals = 0;
      await using server = await RecordingServer.listen({
        protocols: ['h2'],
        keepBodyBytes: 1_000_000,
        handle: async (exchange) => {
          if (refusals < 2) {
            refusals += 1;
            if (sent !== '') await until(() => exchange.request.bodyBytes > 0, 'some of the body');
            exchange.reset(constants.NGHTTP2_REFUSED_STREAM);
          } else {
            seen.push(await bodyOf(exchange));
            await exchange.respond({ body: 'ok' });
          }
        },
      });
      await using pool = new TransportPool();
      using lease = pool.lease(Endpoint.from({ url: server.url, alpn: 'h2' }));
      const call = Call.start(lease, { method: 'POST', headers: headersFor(sent), body: make() });
      await call.ended;
      assert.equal(call.code, what === 'a stream' ? 'ERR_RH_REFUSED' : undefined);
      assert.deepEqual(
        seen.map((body) => body === sent),
        what === 'a stream' ? [] : [true],
      );
    });
  }
});
