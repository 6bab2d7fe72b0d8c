/** Which proxy by the environment, where somebody asks for it: the rules of golang.org/x/net/http/httpproxy. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProxyServer, RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool, proxyFromEnvironment } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';

endsWithNothingOpen();

const proxies = { HTTPS_PROXY: 'http://secure.proxy:3128', HTTP_PROXY: 'http://plain.proxy:3128' };

/** Whether the proxy is used for it. */
const used = (noProxy: string, url: string): boolean =>
  proxyFromEnvironment({ ...proxies, NO_PROXY: noProxy })(url) !== undefined;

test('https servers by HTTPS_PROXY, http servers by HTTP_PROXY, upper case before lower', () => {
  const proxyOf = proxyFromEnvironment(proxies);
  assert.equal(proxyOf('https://a.example'), 'http://secure.proxy:3128');
  assert.equal(proxyOf('http://a.example'), 'http://plain.proxy:3128');
  const lower = {
    https_proxy: 'socks5://lower',
    HTTP_PROXY: '',
    http_proxy: 'lower:81',
    ALL_PROXY: 'http://all',
  };
  assert.equal(proxyFromEnvironment(lower)('https://a.example'), 'socks5://lower');
  assert.equal(proxyFromEnvironment(lower)('http://a.example'), 'http://lower:81');
  assert.equal(proxyFromEnvironment({ ...lower, ...proxies })('https://a.example'), proxies.HTTPS_PROXY);
  assert.equal(proxyFromEnvironment({ ALL_PROXY: 'http://all' })('https://a.example'), undefined);
  assert.equal(proxyFromEnvironment({})('https://a.example'), undefined);
});

test('a program that is called as CGI does not take HTTP_PROXY, which is a field of its caller there', () => {
  const proxyOf = proxyFromEnvironment({ ...proxies, REQUEST_METHOD: 'GET' });
  assert.equal(proxyOf('http://a.example'), undefined);
  assert.equal(proxyOf('https://a.example'), proxies.HTTPS_PROXY);
});

test('this machine is never reached through a proxy', () => {
  for (const url of [
    'https://localhost:6443',
    'https://127.0.0.1',
    'https://127.9.9.9',
    'https://[::1]:6443',
  ]) {
    assert.equal(used('', url), false, url);
  }
  assert.equal(used('', 'https://localhost.example'), true);
  assert.equal(used('', 'https://128.0.0.1'), true);
});

const rules: readonly (readonly [noProxy: string, direct: readonly string[], proxied: readonly string[]])[] =
  [
    ['*', ['https://a.example', 'https://10.0.0.1', 'http://[2001:db8::1]'], []],
    ['b.example, *', ['https://a.example'], []],
    ['*.', [], ['https://a.example']],
    [
      'a.example',
      ['https://a.example', 'https://A.Example:6443', 'https://x.a.example', 'https://a.example.'],
      ['https://xa.example', 'https://example', 'https://a.example.net'],
    ],
    [
      '.a.example',
      ['https://x.a.example', 'https://y.x.a.example'],
      ['https://a.example', 'https://xa.example'],
    ],
    ['*.a.example', ['https://x.a.example'], ['https://a.example']],
    ['A.EXAMPLE', ['https://a.example'], []],
    [
      'a.example:6443,.b.example:80',
      ['https://a.example:6443', 'https://x.a.example:6443', 'http://x.b.example'],
      ['https://a.example', 'https://x.b.example'],
    ],
    ['a.example:443', ['https://a.example'], ['http://a.example']],
    [' a.example ,, b.example', ['https://a.example', 'https://b.example'], ['https://c.example']],
    ['bücher.example', ['https://xn--bcher-kva.example', 'https://bücher.example'], []],
    [
      '10.0.0.1',
      ['https://10.0.0.1', 'https://10.0.0.1:6443'],
      ['https://10.0.0.2', 'https://10.0.0.1.example'],
    ],
    ['10.0.0.1:6443', ['https://10.0.0.1:6443'], ['https://10.0.0.1']],
    ['10.0.0.0/8', ['https://10.200.3.4'], ['https://11.0.0.1', 'https://10.example']],
    ['10.1.2.3/16', ['https://10.1.200.200'], ['https://10.2.0.1']],
    ['2001:db8::1', ['https://[2001:db8::1]', 'https://[2001:0db8:0::1]:6443'], ['https://[2001:db8::2]']],
    ['[2001:db8::1]:6443', ['https://[2001:db8::1]:6443'], ['https://[2001:db8::1]']],
    ['2001:db8::/32', ['https://[2001:db8:1::1]'], ['https://[2001:db9::1]']],
    [
      '10.0.0.0/33,10.0.0.0/,/8,:80,10.0.0.0/8:80,[,fe80::1%eth0,%',
      [],
      ['https://10.0.0.1', 'https://a.example'],
    ],
    ['', [], ['https://a.example']],
  ];
for (const [noProxy, direct, proxied] of rules) {
  test(`NO_PROXY=${noProxy}`, () => {
    assert.deepEqual(
      direct.filter((url) => used(noProxy, url)),
      [],
    );
    assert.deepEqual(
      proxied.filter((url) => !used(noProxy, url)),
      [],
    );
  });
}

test('a proxy that could never be used is refused where the environment is read, and not quoted', () => {
  for (const proxy of ['ftp://planted', 'http://u:planted%zz@p', 'http://p/planted']) {
    assert.throws(
      () => proxyFromEnvironment({ HTTPS_PROXY: proxy }),
      (error: Error & { code?: string }) =>
        error.code === 'ERR_RH_PROXY_URL_INVALID' && !/planted/.test(String(error.stack)),
    );
  }
});

test('W18: the environment by itself changes no way', async (t) => {
  await using server = await RecordingServer.listen();
  await using proxy = await ProxyServer.listen({ protocol: 'http-connect' });
  // As Node.js itself would take it with NODE_USE_ENV_PROXY.
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  for (const name of names) {
    const before = process.env[name];
    process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : proxy.url();
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  await using pool = new TransportPool();
  // No resolver knows the name, and no rule of NO_PROXY excepts it.
  for (const url of ['http://cluster.test', 'https://cluster.test']) {
    using lease = pool.lease(Endpoint.from({ url }));
    assert.equal(await Call.code(lease), 'ERR_RH_DIAL_FAILED');
  }
  using direct = pool.lease(Endpoint.from({ url: server.url }));
  assert.equal(await Call.text(direct), 'ok');
  assert.equal(proxy.connections.length, 0);
});
