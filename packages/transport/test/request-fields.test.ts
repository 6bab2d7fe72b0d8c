/** What is sent is what was given: path and fields, byte for byte and in order, over both protocols. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Readable } from 'node:stream';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';

endsWithNothingOpen();

for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
  describe(`${protocol}: a request`, () => {
    const listen = () => RecordingServer.listen({ protocols: [protocol] });
    const endpoint = (url: string) => Endpoint.from({ url, alpn: protocol });

    test('keeps repeated fields repeated, in their order', async () => {
      await using server = await listen();
      await using pool = new TransportPool();
      using lease = pool.lease(endpoint(server.url));
      const headers = [
        'impersonate-user',
        'jane',
        'impersonate-group',
        'developers',
        'x-other',
        '1',
        'impersonate-group',
        'system:authenticated',
        'impersonate-group',
        'a, b',
      ];
      await Call.text(lease, { headers });
      const [request] = server.requests;
      assert.deepEqual(request?.headerValues('impersonate-group'), [
        'developers',
        'system:authenticated',
        'a, b',
      ]);
      const sent = request?.rawHeaders.join('\n') ?? '';
      assert.ok(sent.includes(headers.slice(0, 4).join('\n')), sent);
    });

    test('keeps its path byte for byte', async () => {
      await using server = await listen();
      await using pool = new TransportPool();
      using lease = pool.lease(endpoint(server.url));
      const path = '/a%2Fb//c/../d/./%2e%2E/?x=%2f&y=a+b&x=2&z=%20';
      await Call.text(lease, { path });
      assert.equal(server.requests[0]?.path, path);
    });

    test('carries the endpoint as its Host, or the one that is given, on one and the same connection', async () => {
      await using server = await listen();
      await using pool = new TransportPool();
      using lease = pool.lease(endpoint(server.url));
      const hosts = [[], ['Host', 'kubernetes.default'], ['host', 'other:8443'], []];
      for (const headers of hosts) {
        await Call.text(lease, { headers });
      }
      const name = protocol === 'h2' ? ':authority' : 'host';
      const own = `127.0.0.1:${server.port}`;
      assert.deepEqual(
        server.requests.map((request) => request.headerValues(name)),
        [[own], ['kubernetes.default'], ['other:8443'], [own]],
      );
      assert.equal(server.accepted, 1);
    });

    test('carries bodies of every form whole', async () => {
      await using server = await listen();
      await using pool = new TransportPool();
      using lease = pool.lease(endpoint(server.url));
      const bodies = [
        'text ü',
        '',
        Buffer.from('bytes'),
        new Uint8Array([1, 2, 3]),
        Readable.from(['a', 'b', 'c'], { objectMode: false }),
        Readable.from([], { objectMode: false }),
        null,
      ];
      for (const body of bodies) {
        await Call.text(lease, { method: 'POST', body });
      }
      assert.deepEqual(
        server.requests.map((request) => request.body.toString()),
        ['text ü', '', 'bytes', '\u0001\u0002\u0003', 'abc', '', ''],
      );
      assert.equal(server.accepted, 1);
    });

    for (const [what, options] of Object.entries({
      'a line break in a field': { headers: ['x-evil', 'a\r\nx-injected: b'] },
      'a field name that is none': { headers: ['x evil', 'a'] },
      'a hop-by-hop field': { headers: ['transfer-encoding', 'chunked'] },
      'a body that contradicts its declared length': {
        method: 'POST',
        headers: ['content-length', '5'],
        body: 'abc',
      },
    })) {
      test(`with ${what} fails alone, once, and its connection goes on`, async () => {
        await using server = await listen();
        await using pool = new TransportPool();
        using lease = pool.lease(endpoint(server.url));
        await Call.text(lease);
        const call = Call.start(lease, options);
        await call.ended;
        assert.ok(
          ['ERR_RH_REQUEST_INVALID', 'ERR_RH_REQUEST_BODY', 'ERR_RH_CONNECTION_STALE'].includes(
            call.code ?? '',
          ),
          call.code,
        );
        assert.equal(await Call.text(lease), 'ok');
        assert.ok(server.accepted <= 2);
        assert.ok(server.requests.every((request) => request.headerValues('x-injected').length === 0));
      });
    }
  });
}

test('over TLS the scheme is https, and two Host fields on one connection are no reason for a second', async () => {
  const authority = await CertificateAuthority.create();
  const certificate = await authority.issue({
    commonName: 'api',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  for (const protocol of ['http/1.1', 'h2'] as const) {
    await using server = await RecordingServer.listen({ tls: certificate, protocols: [protocol] });
    await using pool = new TransportPool();
    const material = TlsMaterial.fromPem({ ca: authority.certificatePem });
    using lease = pool.lease(Endpoint.from({ url: server.url, material, alpn: protocol }));
    for (const host of ['a.example', 'b.example']) {
      await Call.text(lease, { headers: ['host', host] });
    }
    assert.equal(server.accepted, 1);
    if (protocol === 'h2') {
      assert.deepEqual(server.requests[0]?.headerValues(':scheme'), ['https']);
    }
  }
});
