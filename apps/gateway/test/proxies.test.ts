/** Clusters that only a proxy reaches: everything goes through it, its pool is one like any, and its failures say what they are. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { ProxyServer, ResourceBaseline, UpgradeRefused, readAll } from '@roundhouse/simulators';
import type { ProxyServerOptions, ProxyUser } from '@roundhouse/simulators';
import { ask, open, statusIn } from './support/clients.ts';
import { authority, base64, kubeconfigText, openRig, upstreamTls } from './support/gateway-rig.ts';
import type { ContextFields, Rig, RigOptions } from './support/gateway-rig.ts';
import { openKubelet, vias } from './support/kubelet-rig.ts';
import type { KubeletRig } from './support/kubelet-rig.ts';

const user: ProxyUser = { username: 'planted-user', password: 'planted:secret' };
const planted = /planted|cGxhbnRlZ|Proxy-Auth/i;
const bearer = ['Authorization', 'Bearer good'];

const kinds = {
  'an http proxy': { protocol: 'http-connect' },
  'an https proxy': { protocol: 'http-connect', tls: upstreamTls },
  'a SOCKS5 proxy': { protocol: 'socks5' },
} as const satisfies Record<string, ProxyServerOptions>;

/** By a name that no resolver knows: whoever gets there was led there by the proxy. */
function behind(proxyUrl: string | undefined): ContextFields {
  return {
    cluster: {
      server: 'https://cluster.test:6443',
      'tls-server-name': 'localhost',
      'certificate-authority-data': base64(authority.certificatePem),
      ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
    },
    user: { token: 'gateway-token' },
  };
}

/** A proxy that knows one cluster. */
async function listen(
  t: TestContext,
  options: ProxyServerOptions,
): Promise<{ proxy: ProxyServer; leadTo: (port: number) => void }> {
  let target = 0;
  const proxy = await ProxyServer.listen({ resolve: () => ({ port: target }), ...options });
  t.after(() => proxy[Symbol.asyncDispose]());
  return {
    proxy,
    leadTo: (port) => {
      target = port;
    },
  };
}

async function openProxied(
  t: TestContext,
  options: ProxyServerOptions,
  shown: ProxyUser | undefined,
  rigOptions: RigOptions = {},
): Promise<KubeletRig & { proxy: ProxyServer }> {
  const { proxy, leadTo } = await listen(t, options);
  const contexts = (): Record<string, ContextFields> => ({ alpha: behind(proxy.url(shown)) });
  const rig = await openKubelet(t, {}, { contexts, ...rigOptions });
  leadTo(rig.cluster.port);
  return { ...rig, proxy };
}

/** Everything that the gateway shows of itself. */
async function shownBy({ gateway, log }: Rig): Promise<string> {
  const paths = ['/metrics', '/debug/transports', '/debug/clusters', '/debug/sessions'];
  const pages = await Promise.all(paths.map((path) => ask(gateway.adminUrl, path)));
  return JSON.stringify([gateway.inspect(), log, pages.map(({ body }) => body)]);
}

for (const [kind, options] of Object.entries(kinds)) {
  test(`BB-52: GET, watch, exec and port-forward all go through ${kind}, whose credentials nobody else sees`, async (t) => {
    const rig = await openProxied(t, { ...options, user }, user);
    const { gateway, cluster, proxy } = rig;
    const baseline = ResourceBaseline.take();
    assert.equal((await ask(gateway.url, '/clusters/alpha/version', { fields: bearer })).status, 200);
    const watch = await open(gateway.url, '/clusters/alpha/api/v1/pods?watch=1', { fields: bearer });
    assert.equal(watch.statusCode, 200);
    for (const via of vias) {
      await using exec = await rig.exec(via, ['echo', 'hello']);
      assert.equal((await readAll(exec.stdout)).toString(), 'hello\n', via);
      await using forward = await rig.forward(via);
      const echo = await forward.connect(7);
      await echo.write(Buffer.from('over and back'));
      assert.equal((await echo.read())?.toString(), 'over and back', via);
    }
    assert.equal(proxy.tunnels.length, cluster.accepted, 'a connection that no tunnel has made');
    assert.ok(proxy.tunnels.length >= 5);
    for (const { target, user: seen } of proxy.connections) {
      assert.deepEqual([target?.host, target?.port, seen], ['cluster.test', 6443, user]);
    }
    const reached = cluster.requests.map(({ rawHeaders, rawHead }) => [rawHeaders, String(rawHead)]);
    assert.doesNotMatch(JSON.stringify(reached), planted);
    assert.doesNotMatch(await shownBy(rig), planted);
    watch.destroy();
    await gateway.close({ timeoutMs: 0 });
    await proxy.waitForOpen(0);
    await cluster.wire.waitForOpen(0);
    await baseline.returned({ timeoutMs: 2_000 });
  });

  describe(`BB-52: ${kind} that fails`, () => {
    const failures: Readonly<
      Record<string, [code: string, words: RegExp, answer: Partial<ProxyServerOptions>]>
    > = {
      'does not take the credentials': [
        'ERR_RH_PROXY_AUTH',
        /does not take the credentials/,
        { user: { ...user, password: 'another' } },
      ],
      'cannot reach the cluster': [
        'ERR_RH_PROXY_REFUSED',
        /made no connection to cluster\.test:6443: /,
        { answer: (connection) => void connection.refuse(options.protocol === 'socks5' ? 5 : 502) },
      ],
      'breaks off': [
        'ERR_RH_PROXY_FAILED',
        /did not answer for cluster\.test:6443/,
        { answer: ({ socket }) => socket.destroy() },
      ],
      'says nothing': [
        'ERR_RH_DIAL_TIMEOUT',
        /no connection to https:\/\/cluster\.test:6443 was made within 300 ms/,
        { answer: () => undefined },
      ],
    };
    for (const [what, [code, words, answer]] of Object.entries(failures)) {
      const status = code === 'ERR_RH_DIAL_TIMEOUT' ? 504 : 502;
      test(`because it ${what}: ${status} with ${code} for plain requests and sessions`, async (t) => {
        const limits = { dialTimeoutMs: 300 };
        const rig = await openProxied(t, { ...options, ...answer }, user, { limits });
        const { gateway, cluster, proxy } = rig;
        const refusals = [
          (await ask(gateway.url, '/clusters/alpha/version', { fields: bearer })).body,
          await text(await open(gateway.url, '/clusters/alpha/api/v1/pods?watch=1', { fields: bearer })),
        ];
        for (const via of vias) {
          for (const opened of [rig.exec(via, ['echo']), rig.forward(via)]) {
            refusals.push(
              await opened.then(
                () => 'opened',
                (error: unknown) => (error instanceof UpgradeRefused ? error.body : String(error)),
              ),
            );
          }
        }
        for (const body of refusals) {
          const refusal = statusIn(body);
          assert.equal(refusal.code, status, body);
          assert.equal(refusal.error, code);
          assert.match(refusal.message, words);
          assert.doesNotMatch(body, planted);
        }
        assert.equal(cluster.accepted, 0);
        assert.doesNotMatch(await shownBy(rig), planted);
        const [shown] = JSON.parse((await ask(gateway.adminUrl, '/debug/clusters')).body).clusters;
        assert.equal(shown.state, 'unreachable');
        await proxy.waitForOpen(0);
      });
    }
  });
}

test('W2: a proxy-url holds for exec and port-forward as it does for plain requests', async (t) => {
  const rig = await openProxied(t, kinds['an http proxy'], undefined);
  for (const [index, via] of vias.entries()) {
    await using exec = await rig.exec(via, ['cat'], { stdin: true });
    await using forward = await rig.forward(via);
    assert.equal(rig.proxy.openTunnels, 2);
    assert.equal(rig.cluster.accepted, 2 * (index + 1));
    await exec.stdin?.end();
    await forward.close();
    await exec.close();
    await rig.proxy.until(() => rig.proxy.openTunnels === 0, 'no tunnel open');
  }
});

test('W10: a hundred requests to a cluster with a proxy-url use a handful of tunnels, and a warm one none anew', async (t) => {
  const { proxy, leadTo } = await listen(t, kinds['an http proxy']);
  const rig = await openRig(t, {
    contexts: () => ({ alpha: behind(proxy.url()), beta: behind(proxy.url(user)) }),
    limits: { maxConnectionsPerCluster: 4 },
  });
  leadTo(rig.upstream.port);
  const get = async (cluster: string): Promise<void> =>
    assert.equal((await ask(rig.gateway.url, `/clusters/${cluster}/version`)).status, 200);
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => get('alpha')));
  }
  const warm = proxy.tunnels.length;
  assert.ok(warm <= 4, `${warm} tunnels`);
  await get('alpha');
  assert.equal(proxy.tunnels.length, warm);
  // The same address, asked as somebody else of the proxy, is another transport.
  await get('beta');
  assert.equal(proxy.tunnels.length, warm + 1);
  const transports = rig.gateway.inspect().transports.filter(({ requestsTotal }) => requestsTotal > 0);
  assert.deepEqual(
    transports.map(({ requestsTotal }) => requestsTotal),
    [101, 1],
  );
  assert.equal(rig.upstream.accepted, warm + 1);
});

test('another proxy-url in the kubeconfig drains the tunnels of the old one; none at all ends its use', async (t) => {
  const old = await listen(t, kinds['an http proxy']);
  const next = await listen(t, kinds['a SOCKS5 proxy']);
  const rig = await openRig(t, { contexts: () => ({ alpha: behind(old.proxy.url()) }) });
  old.leadTo(rig.upstream.port);
  next.leadTo(rig.upstream.port);
  assert.equal((await ask(rig.gateway.url, '/clusters/alpha/version')).status, 200);
  assert.equal(old.proxy.openTunnels, 1);
  await rig.replaceKubeconfig(kubeconfigText({ alpha: behind(next.proxy.url()) }));
  await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
  assert.equal((await ask(rig.gateway.url, '/clusters/alpha/version')).status, 200);
  assert.equal(next.proxy.openTunnels, 1);
  await old.proxy.waitForOpen(0);
  await rig.replaceKubeconfig(kubeconfigText({ alpha: behind(undefined) }));
  await next.proxy.waitForOpen(0);
  assert.equal(statusIn((await ask(rig.gateway.url, '/clusters/alpha/version')).body).code, 502);
  assert.equal(next.proxy.tunnels.length, 1);
});

test('a proxy-url that is none refuses its context, and no other', async (t) => {
  const rig = await openRig(t, {
    contexts: (upstream) => ({
      alpha: { cluster: { ...behind(undefined).cluster, server: upstream.url } },
      odd: behind('ftp://planted'),
    }),
  });
  assert.equal((await ask(rig.gateway.url, '/clusters/alpha/version')).status, 200);
  const { status, body } = await ask(rig.gateway.url, '/clusters/odd/version');
  assert.equal(status, 503);
  assert.equal(statusIn(body).error, 'ERR_RH_CLUSTER_REFUSED');
  assert.doesNotMatch(body + (await shownBy(rig)), planted);
  assert.match(await shownBy(rig), /the address of the proxy cannot be used/);
});

describe('proxies of the environment', () => {
  const openWith = async (
    t: TestContext,
    environment: (proxy: ProxyServer) => NonNullable<RigOptions['environment']>,
    options: RigOptions = {},
  ) => {
    const { proxy, leadTo } = await listen(t, kinds['an http proxy']);
    const rig = await openRig(t, {
      contexts: (upstream) => ({
        alpha: behind(undefined),
        local: { cluster: { ...behind(undefined).cluster, server: upstream.url } },
      }),
      environment: environment(proxy),
      ...options,
    });
    leadTo(rig.upstream.port);
    const statusFor = async (cluster: string): Promise<number> =>
      (await ask(rig.gateway.url, `/clusters/${cluster}/version`)).status;
    return { ...rig, proxy, statusFor };
  };
  const asked = { upstreamProxyFromEnvironment: true };

  test('are used where that is asked for, but not for this machine', async (t) => {
    const rig = await openWith(t, (proxy) => ({ HTTPS_PROXY: proxy.url(user) }), asked);
    assert.equal(await rig.statusFor('alpha'), 200);
    assert.deepEqual(rig.proxy.connections[0]?.user, user);
    assert.equal(await rig.statusFor('local'), 200);
    assert.equal(rig.proxy.connections.length, 1);
    assert.equal(rig.upstream.accepted, 2);
    assert.doesNotMatch(await shownBy(rig), planted);
  });

  test('BB-52: are not used for what NO_PROXY names', async (t) => {
    const rig = await openWith(t, (proxy) => ({ HTTPS_PROXY: proxy.url(), NO_PROXY: '.test' }), asked);
    assert.equal(await rig.statusFor('alpha'), 502);
    assert.equal(rig.proxy.connections.length, 0);
  });

  test('give way to a proxy-url', async (t) => {
    const own = await listen(t, kinds['a SOCKS5 proxy']);
    const rig = await openWith(t, (proxy) => ({ HTTPS_PROXY: proxy.url() }), {
      ...asked,
      contexts: () => ({ alpha: behind(own.proxy.url()) }),
    });
    own.leadTo(rig.upstream.port);
    assert.equal(await rig.statusFor('alpha'), 200);
    assert.equal(own.proxy.tunnels.length, 1);
    assert.equal(rig.proxy.connections.length, 0);
  });

  test('that are none are told of at the start', async (t) => {
    await assert.rejects(
      openWith(t, () => ({ HTTPS_PROXY: 'ftp://planted' }), asked),
      (error: Error) =>
        /HTTPS_PROXY is no address of a proxy/.test(error.message) && !planted.test(error.message),
    );
  });

  test('W18: change nothing where nobody asks for them, whatever the environment says', async (t) => {
    const rig = await openWith(t, (proxy) => ({ HTTPS_PROXY: proxy.url(), HTTP_PROXY: proxy.url() }));
    const names = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY'];
    const before = names.map((name) => [name, process.env[name]] as const);
    t.after(() => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    for (const name of names) process.env[name] = rig.proxy.url();
    assert.equal(await rig.statusFor('alpha'), 502);
    assert.equal(await rig.statusFor('local'), 200);
    assert.equal(rig.proxy.connections.length, 0);
  });
});
