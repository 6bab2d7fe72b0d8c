/** A proxy on the way: the same requests, upgrades and pools, through tunnels; and nothing at all beside them. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { CertificateAuthority, ProxyServer, RecordingServer, UpgradeServer } from '@roundhouse/simulators';
import type { HttpProtocol, ProxyServerOptions, ProxyUser } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool, proxyDialer } from '@roundhouse/transport';
import type { EndpointOptions } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { RawServer } from './rig/raw-server.ts';

endsWithNothingOpen();

const authority = await CertificateAuthority.create();
const proxyAuthority = await CertificateAuthority.create({ name: 'proxies' });
/** No resolver knows the name: who gets there was led there by the proxy. */
const host = 'cluster.test';
const certificate = await authority.issue({ commonName: 'c', dnsNames: [host], usage: 'server' });
const proxyCertificate = await proxyAuthority.issue({
  commonName: 'p',
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
});
const ca = TlsMaterial.fromPem({ ca: authority.certificatePem });
const proxyCa = TlsMaterial.fromPem({ ca: proxyAuthority.certificatePem });
const user: ProxyUser = { username: 'jane@example', password: 'pl:nted/secret ü' };

const kinds = {
  'an http proxy': { protocol: 'http-connect' },
  'an https proxy': { protocol: 'http-connect', tls: proxyCertificate },
  'a SOCKS5 proxy': { protocol: 'socks5' },
} as const satisfies Record<string, ProxyServerOptions>;

/** A proxy that knows `cluster.test`, whatever the port, as this server. */
function proxyTo(server: { readonly port: number }, options: ProxyServerOptions): Promise<ProxyServer> {
  return ProxyServer.listen({ resolve: () => ({ port: server.port }), ...options });
}

function through(url: string, options: Partial<EndpointOptions> = {}): Endpoint {
  const dialer = proxyDialer({ url, ...(url.startsWith('https:') && { material: proxyCa }) });
  return Endpoint.from({ url: `https://${host}:6443`, material: ca, dialer, ...options });
}

for (const [kind, options] of Object.entries(kinds)) {
  describe(kind, () => {
    for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
      test(`${protocol}: fifty requests share few tunnels, and all go through them`, async () => {
        await using server = await RecordingServer.listen({ tls: certificate, protocols: [protocol] });
        await using proxy = await proxyTo(server, options);
        await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 3, maxIdlePerHost: 3 } });
        const identity = pool.identity('c', through(proxy.url()));
        for (let round = 0; round < 5; round += 1) {
          const bodies = await Promise.all(Array.from({ length: 10 }, () => Call.text(identity)));
          assert.deepEqual([...new Set(bodies)], ['ok']);
        }
        assert.equal(server.received, 50);
        assert.ok(proxy.tunnels.length <= 3, `${proxy.tunnels.length} tunnels`);
        assert.equal(server.accepted, proxy.tunnels.length);
        assert.deepEqual(
          [...new Set(proxy.connections.map(({ target }) => `${target?.host} ${target?.port}`))],
          [`${host} 6443`],
        );
        await pool.close();
        await proxy.waitForOpen(0);
      });
    }

    test('an upgrade goes through a tunnel of its own, byte for byte and half-closed', async () => {
      await using server = await UpgradeServer.listen({ tls: certificate, allowHalfOpen: true });
      await using proxy = await proxyTo(server, options);
      await using pool = new TransportPool();
      const identity = pool.identity('c', through(proxy.url()));
      const answer = await identity.upgrade({ method: 'POST', path: '/', protocol: 'SPDY/3.1', headers: [] });
      assert.ok(answer.switched);
      answer.socket.write('hello');
      const [echo] = await once(answer.socket, 'data');
      assert.equal(String(echo), 'hello');
      assert.equal(proxy.openTunnels, 1);
      assert.equal(server.accepted, 1);
      answer.look();
      answer.socket.end();
      answer.socket.resume();
      await once(answer.socket, 'close');
      assert.ok(server.connections[0]?.ended);
      await proxy.waitForOpen(0);
    });

    test('an upgraded connection that is reset is gone everywhere', async () => {
      await using server = await UpgradeServer.listen({ tls: certificate });
      await using proxy = await proxyTo(server, options);
      await using pool = new TransportPool();
      const identity = pool.identity('c', through(proxy.url()));
      const answer = await identity.upgrade({ method: 'POST', path: '/', protocol: 'SPDY/3.1', headers: [] });
      assert.ok(answer.switched);
      answer.reset();
      await proxy.waitForOpen(0);
      await server.waitForOpen(0);
      assert.ok(!server.connections[0]?.ended, 'a good end');
    });

    test('its answer may come in single bytes, and with bytes of the server right behind it', async () => {
      // Without TLS in between: an HTTP/2 server speaks first.
      await using server = await RecordingServer.listen({ protocols: ['h2'] });
      for (const pieceBytes of [1, 1_000_000]) {
        await using proxy = await proxyTo(server, {
          ...options,
          pieceBytes,
          answer: (connection) => void connection.open({ waitForTarget: true }),
        });
        await using pool = new TransportPool();
        const plain = { url: `http://${host}`, material: undefined, alpn: 'h2' } as const;
        using lease = pool.lease(through(proxy.url(), plain));
        assert.equal(await Call.text(lease), 'ok');
        assert.equal(proxy.tunnels.length, 1);
      }
    });

    test('credentials are shown to the proxy and to nobody else', async () => {
      await using server = await RecordingServer.listen();
      await using proxy = await proxyTo(server, { ...options, user });
      await using pool = new TransportPool();
      const endpoint = through(proxy.url(user), { url: `http://${host}`, material: undefined });
      using lease = pool.lease(endpoint);
      assert.equal(await Call.text(lease, { method: 'POST', body: 'body' }), 'ok');
      assert.deepEqual(proxy.connections[0]?.user, user);
      assert.equal(server.requests[0]?.rawHead?.includes('roxy'), false);
      assert.equal(server.requests[0]?.body.toString(), 'body');
      assert.doesNotMatch(proxy.connections[0]?.target?.head ?? '', /body/);
      const shown = JSON.stringify([pool.inspect(), endpoint.dialer.id, endpoint.key]);
      assert.doesNotMatch(shown, /nted|jane/);
    });

    test('wrong and missing credentials are ERR_RH_PROXY_AUTH, without a word of them', async () => {
      await using server = await RecordingServer.listen();
      await using proxy = await proxyTo(server, { ...options, user });
      await using pool = new TransportPool();
      for (const shown of [{ username: 'jane', password: 'planted' }, undefined]) {
        using lease = pool.lease(through(proxy.url(shown), { url: `http://${host}`, material: undefined }));
        const call = Call.start(lease);
        await call.ended;
        assert.equal(call.code, 'ERR_RH_PROXY_AUTH');
        assert.match(
          call.error?.message ?? '',
          /127\.0\.0\.1:\d+ (?:asks for|does not take the) credentials/,
        );
        assert.doesNotMatch(String(call.error?.stack) + String(call.error?.cause), /planted|jane|cGxhbn/);
      }
      assert.equal(server.accepted, 0);
      await proxy.waitForOpen(0);
    });

    test('a server that the proxy cannot reach is ERR_RH_PROXY_REFUSED', async () => {
      await using nobody = await RawServer.listen(() => undefined);
      const { port } = nobody;
      await nobody[Symbol.asyncDispose]();
      await using proxy = await proxyTo({ port }, options);
      await using pool = new TransportPool();
      using lease = pool.lease(through(proxy.url()));
      const call = Call.start(lease);
      await call.ended;
      assert.equal(call.code, 'ERR_RH_PROXY_REFUSED');
      assert.match(call.error?.message ?? '', /made no connection to cluster\.test:6443/);
      await proxy.waitForOpen(0);
    });

    test('TLS with the server is verified inside the tunnel: who sits in the proxy cannot stand in for it', async () => {
      // What the proxy itself is trusted by is worth nothing for the server, and the right name is not enough.
      for (const stranger of [
        await proxyAuthority.issue({ commonName: 'c', dnsNames: [host], usage: 'server' }),
        await authority.issue({ commonName: 'c', dnsNames: ['other.test'], usage: 'server' }),
        proxyCertificate,
      ]) {
        await using server = await RecordingServer.listen({ tls: stranger });
        await using proxy = await proxyTo(server, options);
        await using pool = new TransportPool();
        using lease = pool.lease(through(proxy.url()));
        assert.equal(await Call.code(lease), 'ERR_RH_TLS_UNTRUSTED');
        assert.equal(server.received, 0);
        await proxy.waitForOpen(0);
      }
    });

    test('TLS sessions with the server are resumed through new tunnels', async () => {
      await using server = await RecordingServer.listen({
        tls: { ...certificate, maxVersion: 'TLSv1.3' },
        handle: (exchange) => exchange.respond({ headers: { connection: 'close' }, body: 'ok' }),
      });
      await using proxy = await proxyTo(server, options);
      await using pool = new TransportPool();
      const identity = pool.identity('c', through(proxy.url(), { alpn: 'http/1.1' }));
      for (let round = 0; round < 3; round += 1) {
        assert.equal(await Call.text(identity), 'ok');
      }
      assert.equal(proxy.tunnels.length, 3);
      assert.equal(pool.inspect().transports[0]?.resumptions, 2);
    });

    test('another proxy drains the tunnels of the old one, and new requests take the new one', async () => {
      await using server = await RecordingServer.listen({
        tls: certificate,
        handle: async (exchange) => {
          await (exchange.request.path === '/watch'
            ? exchange.writeHead(200)
            : exchange.respond({ body: 'ok' }));
        },
      });
      await using old = await proxyTo(server, options);
      await using next = await proxyTo(server, options);
      await using pool = new TransportPool({ limits: { drainTimeoutMs: 50 } });
      const identity = pool.identity('c', through(old.url(), { alpn: 'http/1.1' }));
      const watch = Call.start(identity, { path: '/watch', kind: 'stream' });
      await watch.head;
      assert.equal(await Call.text(identity), 'ok');
      assert.equal(old.openTunnels, 2);
      identity.rotate(through(next.url(), { alpn: 'http/1.1' }));
      assert.equal(await Call.text(identity), 'ok');
      assert.equal(next.openTunnels, 1);
      await watch.ended;
      assert.equal(watch.code, 'ERR_RH_DRAINED');
      await old.waitForOpen(0);
    });
  });
}

describe('an https proxy', () => {
  test('is verified, by its own name and by what it is to be trusted by', async () => {
    await using server = await RecordingServer.listen({ tls: certificate });
    await using proxy = await proxyTo(server, kinds['an https proxy']);
    await using pool = new TransportPool();
    for (const trust of [{}, { material: ca }, { material: proxyCa, serverName: 'other.test' }]) {
      const dialer = proxyDialer({ url: proxy.url(user), ...trust });
      // Also for a server that nobody verifies.
      using lease = pool.lease(Endpoint.from({ url: `https://${host}`, insecure: true, dialer }));
      const call = Call.start(lease);
      await call.ended;
      assert.equal(call.code, 'ERR_RH_PROXY_FAILED');
      assert.match(call.error?.message ?? '', /cannot be reached: ERR_RH_TLS_UNTRUSTED/);
    }
    assert.equal(proxy.connections.filter(({ target }) => target !== undefined).length, 0);
    assert.equal(server.accepted, 0);
    await proxy.waitForOpen(0);
  });

  test('resumes its TLS sessions, which are those of one dialer and of no endpoint', async () => {
    await using server = await RecordingServer.listen({
      tls: certificate,
      handle: (exchange) => exchange.respond({ headers: { connection: 'close' }, body: 'ok' }),
    });
    await using proxy = await proxyTo(server, kinds['an https proxy']);
    await using pool = new TransportPool();
    for (const round of [0, 1]) {
      const identity = pool.identity(
        `c${round}`,
        through(proxy.url(), { alpn: 'http/1.1', insecure: round === 1 }),
      );
      await Call.text(identity);
      await Call.text(identity);
    }
    assert.deepEqual(
      proxy.connections.map(({ sessionReused }) => sessionReused),
      [false, true, false, true],
    );
  });
});

describe('a SOCKS5 proxy', () => {
  const targetOf = async (scheme: string, url: string): Promise<unknown> => {
    await using server = await RecordingServer.listen();
    await using proxy = await proxyTo(server, kinds['a SOCKS5 proxy']);
    await using pool = new TransportPool();
    const dialer = proxyDialer({ url: proxy.url().replace('socks5h', scheme) });
    using lease = pool.lease(Endpoint.from({ url, dialer }));
    assert.equal(await Call.text(lease), 'ok');
    return proxy.tunnels[0]?.target;
  };

  test('gets names as they are from socks5h, and addresses from socks5', async () => {
    assert.deepEqual(await targetOf('socks5h', 'http://localhost:81'), { host: 'localhost', port: 81 });
    const resolved = await targetOf('socks5', 'http://localhost:81');
    assert.match(JSON.stringify(resolved), /^\{"host":"(?:127\.0\.0\.1|0000:.*:0001)","port":81\}$/);
  });

  test('gets addresses as addresses', async () => {
    for (const scheme of ['socks5', 'socks5h']) {
      assert.deepEqual(await targetOf(scheme, 'http://192.0.2.7'), { host: '192.0.2.7', port: 80 });
      assert.deepEqual(await targetOf(scheme, 'http://[2001:db8::7:0:10.1.2.3]:8080'), {
        host: '2001:0db8:0000:0000:0007:0000:0a01:0203',
        port: 8080,
      });
      assert.deepEqual(await targetOf(scheme, 'http://[::]:1'), {
        host: '0000:0000:0000:0000:0000:0000:0000:0000',
        port: 1,
      });
    }
  });

  test('is not asked for a name that is to be resolved here and is not known', async () => {
    await using proxy = await ProxyServer.listen(kinds['a SOCKS5 proxy']);
    await using pool = new TransportPool();
    const dialer = proxyDialer({ url: proxy.url().replace('socks5h', 'socks5') });
    using lease = pool.lease(Endpoint.from({ url: 'http://nobody.invalid', dialer }));
    assert.equal(await Call.code(lease), 'ERR_RH_DIAL_FAILED');
    assert.equal(proxy.connections.length, 0);
  });

  test('says no in words', async () => {
    await using proxy = await ProxyServer.listen({
      ...kinds['a SOCKS5 proxy'],
      answer: (connection) => void connection.refuse(proxy.connections.length),
    });
    await using pool = new TransportPool({ limits: { breakerThreshold: 0 } });
    using lease = pool.lease(through(proxy.url()));
    const words: string[] = [];
    for (let reply = 1; reply <= 9; reply += 1) {
      const call = Call.start(lease);
      await call.ended;
      assert.equal(call.code, 'ERR_RH_PROXY_REFUSED');
      words.push(call.error?.message.split(': ').at(-1) ?? '');
    }
    assert.equal(words[1], 'its rules do not allow it (2)');
    assert.equal(words[4], 'the connection was refused (5)');
    assert.equal(words[8], 'for a reason that is none of SOCKS5 (9)');
    assert.equal(new Set(words).size, 9);
  });
});

test('BB-12: the same server through another proxy, by other credentials or other trust is another transport', async () => {
  await using server = await RecordingServer.listen({ tls: certificate });
  await using proxy = await proxyTo(server, kinds['an http proxy']);
  await using other = await proxyTo(server, kinds['an http proxy']);
  await using pool = new TransportPool();
  const ways = [
    proxy.url(),
    other.url(),
    proxy.url(user),
    proxy.url({ ...user, password: 'other' }),
    proxy.url({ ...user, username: 'other' }),
  ];
  for (const round of [1, 2]) {
    for (const [index, url] of ways.entries()) {
      using lease = pool.lease(through(url));
      assert.equal(await Call.text(lease), 'ok');
      assert.equal(proxy.tunnels.length + other.tunnels.length, round === 1 ? index + 1 : ways.length);
    }
  }
  assert.equal(server.received, 2 * ways.length);
});

test('equal ways have one id, however they are spelled; another trust or password is another', () => {
  const id = (url: string, options: object = {}): string => proxyDialer({ url, ...options }).id;
  const same = [
    ['http://p', 'http://P:80/', 'http://p.'],
    ['https://u:x@p', 'https://%75:x@p:443'],
    ['socks5h://p', 'socks5h://p:1080', 'socks5h://P'],
  ];
  for (const urls of same) {
    assert.equal(new Set(urls.map((url) => id(url))).size, 1, urls.join());
  }
  const different = [
    id('http://p'),
    id('https://p'),
    id('socks5://p'),
    id('socks5h://p'),
    id('http://p:81'),
    id('http://q'),
    id('http://u@p'),
    id('http://u:x@p'),
    id('http://ux:@p'),
    id('http://u:y@p'),
    id('https://p', { material: ca }),
    id('https://p', { serverName: 'q' }),
  ];
  assert.equal(new Set(different).size, different.length);
});

test('an address that is none is refused, and nothing of it is quoted', () => {
  for (const url of [
    '',
    'planted',
    'planted:3128',
    'ftp://planted',
    'http://',
    'http://:3128',
    'http://p:0',
    'http://p:99999',
    'http://p/planted',
    'http://p?planted',
    'http://p#planted',
    'socks5://p/planted',
    'socks4://planted',
    'http://u:planted%zz@p',
    'http://u:planted%ff@p',
    'http://u:planted%0d%0a@p',
    'http://planted%3a:x@p',
    'http://:planted@p',
    `http://u:${'planted'.repeat(40)}@p`,
    'socks5://a b',
  ]) {
    assert.throws(
      () => proxyDialer({ url }),
      (error: Error & { code?: string }) =>
        error.code === 'ERR_RH_PROXY_URL_INVALID' && !/planted/.test(String(error.stack)),
      url,
    );
  }
  for (const options of [{ material: proxyCa }, { serverName: 'p' }]) {
    assert.throws(() => proxyDialer({ url: 'http://p', ...options }), { code: 'ERR_RH_ENDPOINT_INVALID' });
  }
});
