/** Clusters whose kubeconfig has a credential plugin (exec), with plugins as they are: programs. */

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { PluginFolder, UpgradeServer, execCredential, runningInGroup, until } from '@roundhouse/simulators';
import type { Exchange } from '@roundhouse/simulators';
import { ask, open, statusIn } from './support/clients.ts';
import {
  authority,
  contextFor,
  kubeconfigText,
  listenUpstream,
  openRig,
  upstreamTls,
} from './support/gateway-rig.ts';
import type { ContextFields, Rig, RigOptions } from './support/gateway-rig.ts';
import { SessionClient } from './support/session-client.ts';

const path = '/clusters/alpha/api/v1/namespaces/a/configmaps/c';
const both = ['h2', 'http/1.1'] as const;

interface PluginRig extends Rig {
  readonly plugins: PluginFolder;
}

function execOf(command: string, rest: Readonly<Record<string, unknown>> = {}): ContextFields['user'] {
  const apiVersion = 'client.authentication.k8s.io/v1';
  return { exec: { apiVersion, command, interactiveMode: 'Never', ...rest } };
}

/** The cluster `alpha` by a plugin that prints the file `answer`; `beta` by a token. */
async function openWithPlugin(
  t: TestContext,
  body = 'cat "$D/answer"',
  { contexts, ...options }: RigOptions & { readonly exec?: Readonly<Record<string, unknown>> } = {},
): Promise<PluginRig> {
  const plugins = await PluginFolder.create();
  t.after(() => plugins[Symbol.asyncDispose]());
  plugins.write('answer', execCredential({ token: 't0' }));
  const command = plugins.script('plugin', body);
  const { exec, ...rig } = options;
  const opened = await openRig(t, {
    upstream: { protocols: both },
    environment: { PATH: `${plugins.path}:/usr/bin:/bin` },
    contexts: (server) => ({
      alpha: contextFor(server, execOf(command, exec)),
      beta: contextFor(server),
      ...contexts?.(server),
    }),
    ...rig,
  });
  return { ...opened, plugins };
}

/** 200 for what is among these, else 401. */
function accepting(valid: ReadonlySet<string>): (exchange: Exchange) => Promise<void> {
  return async (exchange) => {
    await exchange.readBody();
    const [authorization = ''] = exchange.request.headerValues('authorization');
    await exchange.respond({ status: valid.has(authorization) ? 200 : 401, body: 'ok' });
  };
}

const tokensAt = ({ upstream }: Rig): string[] =>
  upstream.requests.flatMap((received) => received.headerValues('authorization'));

async function metric({ gateway }: Rig, line: string): Promise<number | undefined> {
  const { body } = await ask(gateway.adminUrl, '/metrics');
  const found = body.split('\n').find((text) => text.startsWith(`${line} `));
  return found === undefined ? undefined : Number(found.slice(line.length + 1));
}

async function described({ gateway }: Rig, name = 'alpha') {
  const { clusters } = JSON.parse((await ask(gateway.adminUrl, '/debug/clusters')).body);
  return clusters.find((cluster: { name: string }) => cluster.name === name);
}

suite('a plugin that gives a token', () => {
  test('BB-11: three hundred objects applied by ten at a time cost one run and ten connections at most', async (t) => {
    const rig = await openWithPlugin(t);
    let left = 300;
    const worker = async (): Promise<void> => {
      for (left -= 1; left >= 0; left -= 1) {
        const { status } = await ask(rig.gateway.url, path, { method: 'PATCH', body: '{}' });
        assert.equal(status, 200);
      }
    };
    await Promise.all(Array.from({ length: 10 }, worker));
    assert.equal(rig.upstream.received, 300);
    assert.ok(rig.upstream.accepted <= 10, `${rig.upstream.accepted} connections`);
    assert.deepEqual([...new Set(tokensAt(rig))], ['Bearer t0']);
    assert.equal(rig.plugins.runs, 1);
  });

  test('is run when its cluster is asked, and for none of the others', async (t) => {
    const rig = await openWithPlugin(t);
    await ask(rig.gateway.url, path.replace('alpha', 'beta'));
    assert.equal(rig.plugins.runs, 0);
    assert.equal(rig.gateway.clusters[0]?.state, 'unknown');
    assert.equal((await ask(rig.gateway.url, path)).status, 200);
    assert.equal(rig.plugins.runs, 1);
    assert.deepEqual(tokensAt(rig), ['Bearer gateway-token', 'Bearer t0']);
    assert.deepEqual((await described(rig)).credential, { kind: 'exec', expiresAt: null, lastError: null });
    assert.equal((await described(rig, 'beta')).credential.kind, 'token');
  });

  test('gives nothing to another server: a cluster that moves while the plugin runs is asked by what it has there', async (t) => {
    await using elsewhere = await listenUpstream();
    const rig = await openWithPlugin(t, 'while [ ! -e "$D/go" ]; do sleep 0.05; done; cat "$D/answer"', {
      contexts: (server) => ({ gamma: contextFor(server, execOf('plugin')) }),
    });
    const asked = ask(rig.gateway.url, path);
    const other = ask(rig.gateway.url, path.replace('alpha', 'gamma'));
    await until(() => rig.plugins.runs > 0, 'it runs');
    await rig.replaceKubeconfig(
      kubeconfigText({
        alpha: contextFor(elsewhere, { token: 'of-elsewhere' }),
        gamma: contextFor(rig.upstream, execOf('plugin')),
      }),
    );
    await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
    rig.plugins.write('go', '');
    assert.deepEqual([(await asked).status, (await other).status], [200, 200]);
    assert.deepEqual(tokensAt(rig), ['Bearer t0']);
    assert.deepEqual(
      elsewhere.requests.map((received) => received.headerValues('authorization')),
      [['Bearer of-elsewhere']],
    );
  });

  test('serves watches, too', async (t) => {
    const rig = await openWithPlugin(t);
    const watching = await open(rig.gateway.url, '/clusters/alpha/api/v1/pods?watch=1');
    assert.equal(watching.statusCode, 200);
    watching.destroy();
    assert.deepEqual(tokensAt(rig), ['Bearer t0']);
    assert.equal(rig.plugins.runs, 1);
  });

  test('serves sessions, too; one that is refused is not asked for twice, and the next has another token', async (t) => {
    let valid = 'Bearer t0';
    await using server = await UpgradeServer.listen({
      tls: upstreamTls,
      answer: (connection) => {
        const [authorization] = connection.values('authorization');
        const refusal = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n';
        void connection.write(authorization === valid ? connection.switchingHead() : refusal);
      },
    });
    const rig = await openWithPlugin(t, undefined, {
      contexts: () => ({ gamma: contextFor(server, execOf('plugin')) }),
    });
    const statusOf = async (): Promise<number | undefined> => {
      using session = await SessionClient.open(rig.gateway.url, {
        path: '/clusters/gamma/api/v1/namespaces/web/pods/p/exec?command=true',
      });
      await session.answered();
      return session.status;
    };
    assert.equal(await statusOf(), 101);
    valid = 'Bearer t1';
    rig.plugins.write('answer', execCredential({ token: 't1' }));
    assert.equal(await statusOf(), 502);
    assert.equal(server.accepted, 2);
    await until(() => rig.plugins.runs === 2, 'another run');
    await until(
      () => rig.log.filter(({ msg }) => msg === 'credential from the plugin').length === 2,
      'its end',
    );
    assert.equal(await statusOf(), 101);
  });

  test('is run once for all contexts that mean the same', async (t) => {
    const names = Array.from({ length: 50 }, (_, index) => `c${index}`);
    const rig = await openWithPlugin(t, undefined, {
      contexts: (server) =>
        Object.fromEntries(
          names.map((name) => [
            name,
            contextFor(server, execOf('plugin', { env: [{ name: 'A', value: 'b' }] })),
          ]),
        ),
    });
    const answers = await Promise.all(names.map((name) => ask(rig.gateway.url, `/clusters/${name}/version`)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(rig.plugins.runs, 1);
    const lines = rig.log.filter(({ msg }) => msg === 'credential from the plugin');
    assert.equal(lines.length, 1);
    assert.deepEqual(lines[0]?.['clusters'], names.slice(0, 10));
    assert.equal(lines[0]?.['more'], 40);
  });

  test('is not run again because its kubeconfig was written again', async (t) => {
    const rig = await openWithPlugin(t);
    await ask(rig.gateway.url, path);
    await rig.replaceKubeconfig(
      kubeconfigText({ alpha: contextFor(rig.upstream, execOf(`${rig.plugins.path}/plugin`)) }),
    );
    await rig.waitForLog(({ msg }) => msg === 'kubeconfig read');
    await ask(rig.gateway.url, path);
    assert.equal(rig.plugins.runs, 1);
    assert.equal(rig.gateway.clusters[0]?.generation, 1);
    await rig.replaceKubeconfig(
      kubeconfigText({ alpha: contextFor(rig.upstream, execOf('plugin', { args: ['other'] })) }),
    );
    while (rig.log.filter(({ msg }) => msg === 'kubeconfig read').length < 2) await rig.nextLine();
    await ask(rig.gateway.url, path);
    assert.equal(rig.plugins.runs, 2);
  });

  test("is not run where the caller's own token is passed through", async (t) => {
    const rig = await openWithPlugin(t, undefined, { identity: 'passthrough' });
    await ask(rig.gateway.url, path, { fields: ['Authorization', 'Bearer mine'] });
    assert.deepEqual(tokensAt(rig), ['Bearer mine']);
    assert.equal(rig.plugins.runs, 0);
  });
});

suite('BB-20: a token of a plugin that its cluster refuses', () => {
  test('G5: costs those who only read nothing: the plugin is run once more, for all of them', async (t) => {
    const valid = new Set(['Bearer t0']);
    const rig = await openWithPlugin(t, undefined, { handle: accepting(valid) });
    await ask(rig.gateway.url, path);
    valid.clear();
    valid.add('Bearer t1');
    rig.plugins.write('answer', execCredential({ token: 't1' }));
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(rig.gateway.url, path)));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(rig.plugins.runs, 2);
    assert.equal(rig.gateway.inspect().totals.built, 1, 'a token is no part of a transport');
  });

  test('BB-21: on a hundred watches at once is obtained anew once, and all of them live', async (t) => {
    const valid = new Set<string>();
    const rig = await openWithPlugin(t, undefined, {
      handle: async (exchange) => {
        const [authorization = ''] = exchange.request.headerValues('authorization');
        if (valid.has(authorization)) {
          await exchange.writeHead(200, { 'content-type': 'application/json' });
        } else {
          await exchange.respond({ status: 401 });
        }
      },
    });
    rig.plugins.script('plugin', 'cat "$D/answer"; cat "$D/next" > "$D/answer"');
    rig.plugins.write('next', execCredential({ token: 't1' }));
    valid.add('Bearer t1');
    const watches = await Promise.all(
      Array.from({ length: 100 }, () => open(rig.gateway.url, '/clusters/alpha/api/v1/pods?watch=1')),
    );
    assert.deepEqual([...new Set(watches.map(({ statusCode }) => statusCode))], [200]);
    assert.equal(rig.plugins.runs, 2);
    for (const watching of watches) watching.destroy();
  });

  test('is obtained anew for the next one where a request cannot be sent twice', async (t) => {
    const valid = new Set(['Bearer t1']);
    const rig = await openWithPlugin(t, undefined, { handle: accepting(valid) });
    const post = () => ask(rig.gateway.url, path, { method: 'POST', body: '{}' });
    const before = rig.plugins.runs;
    rig.plugins.script('plugin', 'cat "$D/answer"; cat "$D/next" > "$D/answer"');
    rig.plugins.write('next', execCredential({ token: 't1' }));
    const { status, body } = await post();
    assert.equal(status, 502);
    assert.equal(statusIn(body).error, 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED');
    assert.equal(rig.upstream.received, 1);
    await rig.waitForLog(() => rig.plugins.runs === before + 2);
    await until(
      () => rig.log.filter(({ msg }) => msg === 'credential from the plugin').length === 2,
      'another one',
    );
    assert.equal((await post()).status, 200);
    assert.deepEqual(tokensAt(rig), ['Bearer t0', 'Bearer t1']);
  });

  test('and that stays refused is a 502, and no storm of processes', async (t) => {
    const rig = await openWithPlugin(t, undefined, { handle: accepting(new Set()) });
    for (let time = 0; time < 30; time += 1) {
      const { status, body } = await ask(rig.gateway.url, path);
      assert.equal(status, 502);
      assert.equal(statusIn(body).error, 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED');
    }
    assert.ok(rig.plugins.runs <= 3, `${rig.plugins.runs} runs`);
  });
});

suite('BB-22: a plugin that fails', () => {
  test('harms its own cluster only, which says why at once; it recovers by itself', async (t) => {
    const rig = await openWithPlugin(
      t,
      'test -e "$D/good" && cat "$D/answer" || { echo planted-secret >&2; exit 3; }',
      {
        exec: { args: ['planted-secret'], env: [{ name: 'KEY', value: 'planted-secret' }] },
      },
    );
    for (let time = 0; time < 100; time += 1) {
      const { status, headers, body } = await ask(rig.gateway.url, path);
      assert.equal(status, 503);
      const { error, message } = statusIn(body);
      assert.equal(error, 'ERR_RH_CREDENTIAL_UNAVAILABLE');
      assert.match(message, /no credential for cluster alpha now: .* \(ERR_RH_EXEC_PLUGIN_FAILED\)$/);
      assert.ok(
        !message.includes(rig.plugins.path),
        'which program it is, is none of the business of callers',
      );
      assert.match(headers['retry-after'] ?? '', /^\d+$/);
      assert.equal((await ask(rig.gateway.url, path.replace('alpha', 'beta'))).status, 200);
    }
    assert.ok(rig.plugins.runs <= 5, `${rig.plugins.runs} runs`);
    const line = await rig.waitForLog(({ msg }) => msg === 'no credential from the plugin');
    assert.match(String(line['reason']), /plugin ended with exit code 3$/);
    assert.deepEqual([line['plugin'], line['clusters']], [`${rig.plugins.path}/plugin`, ['alpha']]);
    const shown = await described(rig);
    assert.equal(shown.state, 'unreachable');
    assert.equal(shown.lastError.code, 'ERR_RH_EXEC_PLUGIN_FAILED');
    assert.equal(shown.credential.lastError.code, 'ERR_RH_EXEC_PLUGIN_FAILED');
    assert.equal(await metric(rig, 'roundhouse_gateway_credential_good{cluster="alpha"}'), 0);
    const failed = 'roundhouse_gateway_credential_refreshes_total{cluster="alpha",result="failed"}';
    assert.equal(await metric(rig, failed), rig.plugins.runs);
    for (const text of [
      JSON.stringify(rig.log),
      JSON.stringify(shown),
      (await ask(rig.gateway.adminUrl, '/metrics')).body,
    ]) {
      assert.ok(!text.includes('planted-secret'));
    }

    rig.plugins.write('good', '');
    let status = 503;
    for (const limit = performance.now() + 15_000; status !== 200 && performance.now() < limit;) {
      ({ status } = await ask(rig.gateway.url, path));
    }
    assert.equal(status, 200);
    assert.equal(rig.gateway.clusters[0]?.state, 'ready');
    assert.equal(await metric(rig, 'roundhouse_gateway_credential_good{cluster="alpha"}'), 1);
  });

  test('by not being there tells those who run the gateway how to get it, and its callers nothing', async (t) => {
    const rig = await openWithPlugin(t, undefined, {
      contexts: (server) => ({
        gamma: contextFor(server, execOf('no-such-plugin', { installHint: 'see example.com' })),
      }),
    });
    const { status, body } = await ask(rig.gateway.url, path.replace('alpha', 'gamma'));
    assert.equal(status, 503);
    assert.ok(!body.includes('no-such-plugin') && !body.includes('example.com'));
    assert.match((await described(rig, 'gamma')).lastError.message, /see example.com$/);
  });

  test('by taking too long is ended with all that it has started', async (t) => {
    const rig = await openWithPlugin(t, 'sleep 600 & echo "$$" > "$D/group"; wait', {
      credentialPlugins: { timeoutMs: 500 },
    });
    const { status } = await ask(rig.gateway.url, path);
    assert.equal(status, 503);
    const group = Number(rig.plugins.read('group'));
    assert.ok(group > 1);
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
    assert.equal(await metric(rig, 'roundhouse_gateway_credential_plugins_running'), 0);
  });
});

suite('the end of a credential', () => {
  test('is exported, shown and told', async (t) => {
    const rig = await openWithPlugin(t);
    const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
    const end = inMs(20_000);
    rig.plugins.write('answer', execCredential({ token: 't0', expirationTimestamp: end }));
    await ask(rig.gateway.url, path);
    const name = 'roundhouse_gateway_credential_expiry_timestamp_seconds{cluster="alpha"}';
    assert.equal(await metric(rig, name), new Date(end).getTime() / 1000);
    assert.equal((await described(rig)).credential.expiresAt, end);
    const line = await rig.waitForLog(({ msg }) => msg === 'credential from the plugin');
    assert.equal(line['expiresAt'], end);
  });

  test('of a token that says so itself is exported as a hint', async (t) => {
    const payload = Buffer.from(JSON.stringify({ exp: 4_000_000_000 })).toString('base64url');
    const rig = await openWithPlugin(t, undefined, {
      contexts: (server) => ({ gamma: contextFor(server, { token: `e30.${payload}.c2ln` }) }),
    });
    const name = 'roundhouse_gateway_credential_expiry_timestamp_seconds{cluster="gamma"}';
    assert.equal(await metric(rig, name), 4_000_000_000);
  });
});

suite('a plugin that gives a client certificate', () => {
  test('is asked with it, and with the next one over other connections; what runs may end', async (t) => {
    const [first, second] = await Promise.all(
      ['first', 'second'].map((commonName) => authority.issue({ commonName, usage: 'client' })),
    );
    assert.ok(first !== undefined && second !== undefined);
    let refused = '';
    const rig = await openWithPlugin(t, undefined, {
      limits: { drainTimeoutMs: 5_000 },
      handle: async (exchange) => {
        const name = exchange.request.connection.tls?.clientCommonName ?? '';
        if (exchange.request.path.includes('watch')) {
          await exchange.writeHead(200, { 'content-type': 'application/json' });
        } else {
          await exchange.respond({ status: name === refused ? 401 : 200, body: name });
        }
      },
    });
    const print = ({ certPem, keyPem }: typeof first): void => {
      rig.plugins.write('answer', execCredential({ clientCertificateData: certPem, clientKeyData: keyPem }));
    };
    print(first);
    assert.equal((await ask(rig.gateway.url, path)).body, 'first');
    const watching = await open(rig.gateway.url, '/clusters/alpha/api/v1/pods?watch=1');
    refused = 'first';
    print(second);
    const { status, body } = await ask(rig.gateway.url, path);
    assert.deepEqual([status, body], [200, 'second']);
    assert.equal(rig.plugins.runs, 2);
    assert.equal(watching.readable, true);
    assert.deepEqual(tokensAt(rig), []);
    // Without a certificate nothing was ever asked.
    const names = rig.upstream.connections.map(({ tls }) => tls?.clientCommonName ?? 'nobody');
    assert.deepEqual([...new Set(names)].toSorted(), ['first', 'second']);
    watching.destroy();
  });

  test('that other clusters have obtained already is shown by each of them', async (t) => {
    const pair = await authority.issue({ commonName: 'shared', usage: 'client' });
    const rig = await openWithPlugin(t, undefined, {
      handle: (exchange) =>
        exchange.respond({ body: exchange.request.connection.tls?.clientCommonName ?? 'nobody' }),
      contexts: (server) => ({
        gamma: contextFor(server, execOf('plugin')),
        delta: contextFor(server, execOf('plugin')),
      }),
    });
    rig.plugins.write(
      'answer',
      execCredential({ clientCertificateData: pair.certPem, clientKeyData: pair.keyPem }),
    );
    for (const name of ['gamma', 'delta']) {
      assert.equal((await ask(rig.gateway.url, `/clusters/${name}/version`)).body, 'shared');
    }
    assert.equal(rig.plugins.runs, 1);
  });
});

suite('which plugins may be run', () => {
  test('none where the policy denies all: their contexts are refused, and nobody is told more than that', async (t) => {
    const rig = await openWithPlugin(t, undefined, { credentialPlugins: { policy: 'DenyAll' } });
    const { status, body } = await ask(rig.gateway.url, path);
    assert.equal(status, 503);
    assert.match(statusIn(body).message, /uses a credential plugin, which the policy DenyAll forbids$/);
    assert.equal(rig.gateway.clusters[0]?.state, 'refused');
    assert.equal((await ask(rig.gateway.url, path.replace('alpha', 'beta'))).status, 200);
    assert.equal(rig.plugins.runs, 0);
  });

  test('those of a list', async (t) => {
    const rig = await openWithPlugin(t, undefined, {
      credentialPlugins: { policy: 'Allowlist', allowlist: ['plugin'] },
      contexts: (server) => ({ gamma: contextFor(server, execOf('/bin/true')) }),
    });
    assert.equal((await ask(rig.gateway.url, path)).status, 200);
    const { status, body } = await ask(rig.gateway.url, path.replace('alpha', 'gamma'));
    assert.equal(status, 503);
    assert.match(statusIn(body).message, /\(ERR_RH_EXEC_PLUGIN_FORBIDDEN\)$/);
  });
});

suite('a plugin that runs', () => {
  const endless = 'sleep 600 & echo "$$" > "$D/group"; wait';

  async function running({ plugins }: PluginRig): Promise<number> {
    await until(() => plugins.read('group') !== '', 'a plugin that runs');
    return Number(plugins.read('group'));
  }

  test('ends with its cluster, and those who wait for it are told so', async (t) => {
    const rig = await openWithPlugin(t, endless);
    const asking = ask(rig.gateway.url, path);
    const group = await running(rig);
    await rig.replaceKubeconfig(kubeconfigText({ beta: contextFor(rig.upstream) }));
    assert.equal((await asking).status, 503);
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
  });

  test('ends with the gateway, which keeps nobody waiting', async (t) => {
    const rig = await openWithPlugin(t, endless);
    const asking = ask(rig.gateway.url, path);
    const group = await running(rig);
    await rig.gateway.close();
    assert.deepEqual(runningInGroup(group), []);
    const { status, body } = await asking;
    assert.equal(status, 503);
    assert.equal(statusIn(body).error, 'ERR_RH_SHUTTING_DOWN');
  });

  test('is not waited for by a client that has gone', async (t) => {
    const rig = await openWithPlugin(t, endless);
    const asking = request(`${rig.gateway.url}${path}`);
    asking.on('error', () => undefined);
    asking.end();
    await running(rig);
    asking.destroy();
    const line = await rig.waitForLog(({ msg }) => msg === 'request');
    assert.equal(line['error'], 'ERR_RH_CLIENT_GONE');
    assert.equal(line['code'], 499);
  });
});
