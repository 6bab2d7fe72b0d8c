/** Requests over a pooled identity against a simulated kube-apiserver, as that sees them. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { suite, test } from 'node:test';
import { ManualClock, RecordingServer, ResourceBaseline, until } from '@roundhouse/simulators';
import type { Exchange } from '@roundhouse/simulators';
import { Endpoint, RoundhouseError, TransportPool } from '@roundhouse/transport';
import { KubeClient, ShapeError, asItCame, isApiStatus } from '../src/index.ts';
import type { ApiAccess, ApiStatusError, KubeObject, ResourceType } from '../src/index.ts';
import { Cluster, configMap, configMaps, names } from './rig/cluster.ts';
import { StuckSource } from './rig/stuck-source.ts';
import { TokenSource } from './rig/token-source.ts';

const one = { name: 'one', namespace: 'default' };

const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
  read: asItCame,
};

const deployments: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
  read: asItCame,
};

async function failure(call: Promise<unknown>): Promise<ApiStatusError> {
  const error: unknown = await call.then(
    () => assert.fail('it worked'),
    (reason: unknown) => reason,
  );
  assert.ok(isApiStatus(error), String(error));
  return error;
}

async function code(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'none',
    (error: unknown) => (RoundhouseError.is(error) ? error.code : String(error)),
  );
}

suite('verbs', () => {
  test('an object is created, read, replaced, patched in three ways and deleted', async () => {
    await using _baseline = ResourceBaseline.take();
    await using cluster = await Cluster.open();
    const { client } = cluster;
    const created = await client.create(configMaps, configMap('one', { a: '1' }));
    assert.equal(created.metadata.name, 'one');
    assert.ok(created.metadata.uid);
    assert.deepEqual((await client.get(configMaps, one))['data'], { a: '1' });

    const replaced = await client.update(configMaps, { ...created, data: { a: '2' } });
    assert.deepEqual(replaced['data'], { a: '2' });
    const conflict = await failure(client.update(configMaps, { ...created, data: { a: '3' } }));
    assert.deepEqual([conflict.status, conflict.reason], [409, 'Conflict']);

    const merged = await client.patch(configMaps, one, { kind: 'merge', body: { data: { b: '1' } } });
    assert.deepEqual(merged['data'], { a: '2', b: '1' });
    const patched = await client.patch(configMaps, one, {
      kind: 'json',
      body: [{ op: 'remove', path: '/data/a' }],
    });
    assert.deepEqual(patched['data'], { b: '1' });
    const applied = await client.patch(
      configMaps,
      one,
      { kind: 'apply', body: { metadata: { name: 'one' }, data: { b: '2' } }, force: true },
      { fieldManager: 'rig' },
    );
    assert.deepEqual(applied['data'], { b: '2' });

    const stale = await failure(client.delete(configMaps, one, { uid: 'another' }));
    assert.equal(stale.status, 409);
    await client.delete(configMaps, one, { uid: created.metadata.uid, propagationPolicy: 'Background' });
    const missing = await failure(client.get(configMaps, one));
    assert.deepEqual([missing.status, missing.reason], [404, 'NotFound']);
    assert.match(missing.message, /GET \/api\/v1\/namespaces\/default\/configmaps\/one .*404 NotFound/);
    assert.equal(cluster.apiserver.accepted, 1);
  });

  test('a dry run leaves nothing, and a status is written on its own', async () => {
    await using cluster = await Cluster.open();
    const { client } = cluster;
    await client.create(configMaps, configMap('one'), { dryRun: true });
    assert.equal((await failure(client.get(configMaps, one))).status, 404);
    const template = {
      metadata: { labels: { app: 'a' } },
      spec: { containers: [{ name: 'c', image: 'example/c' }] },
    };
    await client.create(deployments, {
      metadata: one,
      spec: { replicas: 1, selector: { matchLabels: { app: 'a' } }, template },
    });
    const body = { spec: { replicas: 5 }, status: { replicas: 3 } };
    const written = await client.patch(deployments, one, { kind: 'merge', body }, { subresource: 'status' });
    assert.deepEqual(
      [written['spec'], written['status']].map((part) => (part as { replicas: number }).replicas),
      [1, 3],
    );
  });

  test('a list comes by pages, of one namespace or all, by labels and fields, its items with their kind', async () => {
    await using cluster = await Cluster.open();
    const { client, apiserver } = cluster;
    await client.create(namespaces, { metadata: { name: 'web' } });
    for (const name of ['a', 'b', 'c']) {
      apiserver.store.put(configMap(name, {}, 'web', { first: String(name === 'a') }));
    }
    cluster.put('d');
    const first = await client.list(configMaps, { namespace: 'web', limit: 2 });
    assert.deepEqual(names(first.items), ['a', 'b']);
    assert.ok(first.items.every(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'ConfigMap'));
    const { continueToken } = first;
    const second = await client.list(configMaps, { namespace: 'web', limit: 2, continueToken });
    assert.deepEqual([names(second.items), second.continueToken], [['c'], undefined]);
    assert.equal(second.resourceVersion, first.resourceVersion);
    assert.deepEqual(names((await client.list(configMaps)).items), ['a', 'b', 'c', 'd']);
    const labelled = await client.list(configMaps, { labelSelector: 'first=true' });
    assert.deepEqual(names(labelled.items), ['a']);
    const named = await client.list(configMaps, { fieldSelector: 'metadata.name=d' });
    assert.deepEqual(names(named.items), ['d']);
  });

  test('what would make another path of it is refused before anything is sent', async () => {
    await using cluster = await Cluster.open();
    const { client, apiserver } = cluster;
    for (const name of ['', '.', '..', 'a/b', 'a%2fb']) {
      assert.equal(await code(client.get(configMaps, { ...one, name })), 'ERR_RH_API_REQUEST_INVALID', name);
      assert.equal(
        await code(client.delete(configMaps, { ...one, namespace: name })),
        'ERR_RH_API_REQUEST_INVALID',
      );
    }
    assert.equal(await code(client.get(configMaps, { name: 'one' })), 'ERR_RH_API_REQUEST_INVALID');
    assert.equal(await code(client.get(namespaces, one)), 'ERR_RH_API_REQUEST_INVALID');
    assert.equal(await code(client.create(configMaps, {})), 'ERR_RH_API_REQUEST_INVALID');
    assert.equal(apiserver.received, 0);
  });

  test('a signal ends a request, also one that waits to be sent again', async () => {
    await using _baseline = ResourceBaseline.take();
    const clock = new ManualClock();
    await using cluster = await Cluster.open({ access: { clock } });
    const controller = new AbortController();
    cluster.apiserver.faults.add({ match: () => true, fault: { kind: 'status', code: 429 } });
    const waiting = code(cluster.client.get(configMaps, one, { signal: controller.signal }));
    await until(() => clock.pending === 1, 'it waits');
    controller.abort();
    assert.equal(await waiting, 'ERR_RH_ABORTED');
    assert.equal(clock.pending, 0);
    assert.equal(cluster.apiserver.received, 1);
  });
});

suite('answers', () => {
  async function answered(
    handle: (exchange: Exchange) => Promise<void>,
    ask: (client: KubeClient) => Promise<unknown>,
    access: Omit<ApiAccess, 'sender'> = {},
  ): Promise<unknown> {
    await using server = await RecordingServer.listen({ handle });
    await using pool = new TransportPool();
    const identity = pool.identity('raw', Endpoint.from({ url: server.url }));
    return await ask(new KubeClient({ ...access, sender: identity })).catch((error: unknown) => error);
  }

  const respond =
    (body: string, status = 200) =>
    async (exchange: Exchange): Promise<void> =>
      exchange.respond({ status, body });

  const get = (client: KubeClient): Promise<unknown> => client.get(configMaps, one);

  test('what is no JSON, no object or not shaped like one is told as that, and not quoted', async () => {
    for (const body of [
      'secret',
      '[]',
      '"secret"',
      '{"metadata":"secret"}',
      '{"metadata":{"labels":{"a":1}}}',
    ]) {
      const error = await answered(respond(body), get);
      assert.ok(RoundhouseError.is(error) && error.code === 'ERR_RH_API_ANSWER_INVALID', body);
      assert.ok(!error.message.includes('secret'), error.message);
    }
    const list = await answered(respond('{"items":{}}'), (client) => client.list(configMaps));
    assert.ok(RoundhouseError.is(list) && list.code === 'ERR_RH_API_ANSWER_INVALID');
  });

  test('what a kind of objects cannot be read as is told as an invalid answer', async () => {
    const picky: ResourceType = {
      ...configMaps,
      read: () => {
        throw new ShapeError('its data is missing');
      },
    };
    const error = await answered(respond('{}'), (client) => client.get(picky, one));
    assert.match(
      String(error),
      /ERR_RH_API_ANSWER_INVALID: an answer about configmaps .* its data is missing/,
    );
  });

  test('a failure without a Status has the number alone, and nothing of a page that came in its place', async () => {
    const error = await answered(respond('<html>secret</html>', 502), get);
    assert.ok(isApiStatus(error, 502) && error.reason === '');
    assert.ok(!error.message.includes('secret'));
  });

  test('an answer that is larger than the bound ends as soon as that is known', async () => {
    let outcome = '';
    const endless = async (exchange: Exchange): Promise<void> => {
      void exchange.closed.then(() => {
        outcome = exchange.request.outcome;
      });
      await exchange.writeHead(200);
      await exchange.write('x'.repeat(200_000));
    };
    const error = await answered(endless, get, { maxAnswerBytes: 100_000 });
    assert.ok(RoundhouseError.is(error) && error.code === 'ERR_RH_API_ANSWER_TOO_LARGE');
    await until(() => outcome === 'aborted', 'the server is told');
  });

  test('the base path stands before every path, and who asks is said', async () => {
    let seen: readonly unknown[] = [];
    await answered(
      async (exchange) => {
        const { path } = exchange.request;
        seen = [path, ...exchange.request.headerValues('user-agent')];
        await exchange.respond({ body: '{}' });
      },
      get,
      { basePath: '/k8s/c-1', userAgent: 'rig/1' },
    );
    assert.deepEqual(seen, ['/k8s/c-1/api/v1/namespaces/default/configmaps/one', 'rig/1']);
  });
});

suite('sent again', () => {
  /** Moves the clock on to whatever is waited for, until the call has ended. */
  async function through<T>(clock: ManualClock, call: Promise<T>): Promise<T> {
    const over = new AbortController();
    const ended = call.finally(() => over.abort());
    ended.catch(() => undefined);
    while (!over.signal.aborted) {
      await until(() => over.signal.aborted || clock.pending > 0, 'an end or a wait');
      clock.advance(over.signal.aborted ? 0 : 1_000);
    }
    return ended;
  }

  test('a 429 with Retry-After is asked again after that time, whatever the method', async () => {
    const clock = new ManualClock();
    await using cluster = await Cluster.open({ access: { clock } });
    const headers = { 'Retry-After': '2' };
    cluster.apiserver.faults.add({
      match: () => true,
      times: 2,
      fault: { kind: 'status', code: 429, headers },
    });
    const started = clock.now();
    const created = await through(clock, cluster.client.create(configMaps, configMap('one')));
    assert.equal(created.metadata.name, 'one');
    assert.equal(clock.now() - started, 4_000);
    assert.equal(cluster.apiserver.received, 3);
  });

  test('a 503 with Retry-After is asked again for what changes nothing, and never for what may have been done', async () => {
    const clock = new ManualClock();
    await using cluster = await Cluster.open({ access: { clock } });
    cluster.apiserver.faults.add({ match: () => true, times: 1, fault: { kind: 'status', code: 503 } });
    await through(clock, cluster.client.list(configMaps));
    assert.equal(cluster.apiserver.received, 2);
    cluster.apiserver.faults.add({ match: () => true, times: 1, fault: { kind: 'status', code: 503 } });
    const error = await failure(through(clock, cluster.client.create(configMaps, configMap('one'))));
    assert.deepEqual([error.status, error.retryAfterMs], [503, 1_000]);
    assert.equal(cluster.apiserver.received, 3);
  });

  test('who is always put off is told so after half a minute, or five times', async () => {
    const clock = new ManualClock();
    await using cluster = await Cluster.open({ access: { clock } });
    for (const [seconds, requests] of [
      ['1', 6],
      ['20', 2],
      ['3600', 1],
    ] as const) {
      const before = cluster.apiserver.received;
      const headers = { 'Retry-After': seconds };
      using _fault = cluster.apiserver.faults.add({
        match: () => true,
        fault: { kind: 'status', code: 429, headers },
      });
      const error = await failure(through(clock, cluster.client.list(configMaps)));
      assert.equal(error.status, 429);
      assert.equal(cluster.apiserver.received - before, requests);
    }
  });

  test('without Retry-After nothing is asked again', async () => {
    await using cluster = await Cluster.open();
    const body = { kind: 'Status', message: 'not now\nor ever', details: { retryAfterSeconds: 7 } };
    cluster.apiserver.faults.add({
      match: () => true,
      fault: { kind: 'status', code: 418, body },
    });
    const error = await failure(cluster.client.list(configMaps));
    assert.deepEqual([error.status, error.retryAfterMs], [418, 7_000]);
    assert.match(error.message, /not now or ever$/);
    assert.equal(cluster.apiserver.received, 1);
  });
});

suite('credentials', () => {
  const tokens = { good: { username: 'admin', groups: ['system:masters'] } };

  test('a token goes with each request, and one that is refused is replaced once', async () => {
    const source = new TokenSource('old');
    source.next = 'good';
    await using cluster = await Cluster.open({
      who: 'nobody',
      authentication: { tokens, anonymous: false },
      access: { credential: source },
    });
    await cluster.client.create(configMaps, configMap('one'));
    await cluster.client.get(configMaps, one);
    const shown = cluster.apiserver.requests.flatMap((request) => request.headerValues('authorization'));
    assert.deepEqual(shown, ['Bearer old', 'Bearer good', 'Bearer good']);
    assert.equal(source.renewals, 1);
  });

  test('a token that is refused and has no successor is a 401 of one request, without the token in it', async () => {
    const source = new TokenSource('bad-token');
    await using cluster = await Cluster.open({
      who: 'nobody',
      authentication: { tokens, anonymous: false },
      access: { credential: source },
    });
    const error = await failure(cluster.client.get(configMaps, one));
    assert.deepEqual([error.status, error.reason], [401, 'Unauthorized']);
    assert.ok(!JSON.stringify(error).includes('bad-token') && !error.stack?.includes('bad-token'));
    assert.equal(cluster.apiserver.received, 1);
  });

  test('a signal ends a call that waits for a credential, and one that waits for another credential', async () => {
    for (const token of [undefined, 'bad']) {
      const source = new StuckSource(token);
      await using cluster = await Cluster.open({
        who: 'nobody',
        authentication: { tokens, anonymous: false },
        access: { credential: source },
      });
      const controller = new AbortController();
      const { signal } = controller;
      const calls = [
        code(cluster.client.get(configMaps, one, { signal })),
        code(cluster.client.watch(configMaps, { signal }, () => undefined)),
      ];
      await until(() => source.waiting === 2, 'both wait');
      controller.abort();
      assert.deepEqual(await Promise.all(calls), ['ERR_RH_ABORTED', 'ERR_RH_ABORTED']);
      assert.equal(getEventListeners(signal, 'abort').length, 0);
      assert.equal(await code(cluster.client.get(configMaps, one, { signal })), 'ERR_RH_ABORTED');
      assert.equal(source.waiting, 2);
      assert.equal(cluster.apiserver.received, token === undefined ? 0 : 2);
    }
  });

  test('calls that have waited for a credential leave no listener on their signal', async () => {
    const source = new StuckSource(undefined);
    await using cluster = await Cluster.open({
      who: 'nobody',
      authentication: { tokens, anonymous: false },
      access: { credential: source },
    });
    cluster.put('one');
    const { signal } = new AbortController();
    const calls = [1, 2, 3].map(() => cluster.client.get(configMaps, one, { signal }));
    await until(() => source.waiting === 3, 'all wait');
    source.bring('good');
    await Promise.all(calls);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  test('without a right it is a 403 that says whose and which', async () => {
    const source = new TokenSource('guest');
    await using cluster = await Cluster.open({
      who: 'nobody',
      authentication: { tokens: { guest: { username: 'guest' } } },
      access: { credential: source },
    });
    const error = await failure(cluster.client.list(configMaps));
    assert.deepEqual([error.status, error.reason], [403, 'Forbidden']);
    assert.match(error.message, /"guest" cannot list resource "configmaps"/);
  });
});

test('a hundred new clients of one identity are one connection', async () => {
  await using cluster = await Cluster.open();
  cluster.put('one');
  for (let index = 0; index < 100; index += 1) {
    const client = new KubeClient({ sender: cluster.identity });
    const read: KubeObject = await client.get(configMaps, one);
    assert.equal(read.metadata.name, 'one');
  }
  assert.equal(cluster.apiserver.accepted, 1);
});
