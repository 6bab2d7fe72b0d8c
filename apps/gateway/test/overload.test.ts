/** One cluster that is down, or answers nothing, is that cluster's trouble: its callers are told what to do, the others' feel nothing. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, open, statusIn } from './support/clients.ts';
import { contextFor, listenUpstream, openRig } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';

const path = (cluster: string): string => `/clusters/${cluster}/api/v1/namespaces/a/pods`;

async function metric({ gateway }: Rig, name: string): Promise<number> {
  const { body } = await ask(gateway.adminUrl, '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body)?.[1]);
}

/** Of 50 requests, one after the other, each of which is answered. */
async function medianMs({ gateway }: Rig, cluster: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 50; round += 1) {
    const started = performance.now();
    assert.equal((await ask(gateway.url, path(cluster))).status, 200);
    times.push(performance.now() - started);
  }
  return times.toSorted((left, right) => left - right)[25] ?? Number.NaN;
}

test('W16: a cluster that is down is dialed five times, then not for a while: 503 with Retry-After at once, for sessions too', async (t) => {
  const former = await listenUpstream();
  const down = { url: former.url };
  await former[Symbol.asyncDispose]();
  const rig = await openRig(t, {
    limits: { breakerRestMs: 4_000 },
    contexts: (upstream) => ({ alpha: contextFor(upstream), down: contextFor(down) }),
  });
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const { status, body } = await ask(rig.gateway.url, path('down'));
    assert.deepEqual([status, statusIn(body).error], [502, 'ERR_RH_DIAL_FAILED']);
  }
  for (const options of [
    {},
    { method: 'POST', body: '{}' },
    { fields: ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1'] },
  ]) {
    const { status, headers, body } = await ask(rig.gateway.url, path('down'), options);
    const { error, message } = statusIn(body);
    assert.deepEqual([status, error], [503, 'ERR_RH_ENDPOINT_DOWN']);
    assert.match(String(headers['retry-after']), /^[34]$/);
    assert.equal(JSON.parse(body).details.retryAfterSeconds, Number(headers['retry-after']));
    assert.match(message, /ECONNREFUSED|ERR_RH_DIAL_FAILED/);
  }
  assert.equal((await ask(rig.gateway.url, path('alpha'))).status, 200);
  assert.equal(await metric(rig, 'roundhouse_transport_breakers_open'), 1);
  assert.equal(await metric(rig, 'roundhouse_transport_breakers_opened_total'), 1);
  assert.equal(await metric(rig, 'roundhouse_transport_refused_while_down_total'), 3);
});

test('W16: a cluster that answers nothing fills its own bounds and no others: each limit has its answer, and another cluster answers as fast as before', async (t) => {
  const silent = await listenUpstream({ handle: () => new Promise(() => undefined) });
  t.after(() => silent[Symbol.asyncDispose]());
  const rig = await openRig(t, {
    limits: {
      maxConnectionsPerCluster: 4,
      maxWaitingPerCluster: 10,
      maxStreamsPerCluster: 3,
      maxWaitMs: 1_500,
      requestTimeoutMs: 3_000,
    },
    contexts: (upstream) => ({ alpha: contextFor(upstream), silent: contextFor(silent) }),
  });
  const outcome = async (target: string): Promise<string> => {
    const { status, headers, body } = await ask(rig.gateway.url, target);
    return `${status} ${statusIn(body).error}, Retry-After ${headers['retry-after'] ?? 'none'}`;
  };
  const before = await medianMs(rig, 'alpha');
  const requests = Array.from({ length: 50 }, () => outcome(path('silent')));
  const watches = Array.from({ length: 10 }, () =>
    open(rig.gateway.url, `${path('silent')}?watch=1`).catch(() => undefined),
  );
  await silent.waitForRequests(7);
  const meanwhile = await medianMs(rig, 'alpha');
  assert.ok(meanwhile < Math.max(4 * before, 20), `${meanwhile} ms, and ${before} ms before`);
  assert.equal(silent.received, 7, 'so many are still not answered');
  const counts = new Map<string, number>();
  for (const text of await Promise.all(requests)) {
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  assert.deepEqual(Object.fromEntries(counts), {
    '503 ERR_RH_QUEUE_FULL, Retry-After 1': 36,
    '503 ERR_RH_QUEUE_TIMEOUT, Retry-After 1': 10,
    '504 ERR_RH_REQUEST_TIMEOUT, Retry-After none': 4,
  });
  assert.equal(await outcome(`${path('silent')}?watch=1`), '503 ERR_RH_STREAM_LIMIT, Retry-After 1');
  await rig.gateway.close({ timeoutMs: 0 });
  const answers = await Promise.all(watches);
  assert.equal(answers.filter((answer) => answer?.statusCode === 503).length, 10);
});

test('W16: a caller with many requests does not hold up another one: where they wait, each caller is served in turn', async (t) => {
  const release = Promise.withResolvers<void>();
  const rig = await openRig(t, {
    tokens: ['token-much,much,1', 'token-little,little,2'],
    limits: { maxConnectionsPerCluster: 1 },
    identity: 'gateway',
    handle: async (exchange) => {
      await release.promise;
      await exchange.respond({ body: 'ok' });
    },
  });
  const waiting = (): number => rig.gateway.inspect().transports[0]?.waiting ?? 0;
  const send = (caller: string, count: number): Promise<number>[] =>
    Array.from({ length: count }, async (_, index) => {
      const { status } = await ask(rig.gateway.url, `/clusters/alpha/api/v1/namespaces/${caller}-${index}`, {
        fields: ['Authorization', `Bearer token-${caller}`],
      });
      return status;
    });
  const wait = async (count: number): Promise<void> => {
    while (waiting() < count) {
      await new Promise(setImmediate);
    }
  };
  const first = ask(rig.gateway.url, '/clusters/alpha/version', {
    fields: ['Authorization', 'Bearer token-much'],
  });
  await rig.upstream.waitForRequests(1);
  const much = send('much', 40);
  await wait(40);
  const little = send('little', 1);
  await wait(41);
  release.resolve();
  await first;
  assert.deepEqual([...new Set(await Promise.all([...much, ...little]))], [200]);
  assert.equal(
    rig.upstream.requests.findIndex((request) => request.path.endsWith('/little-0')),
    2,
    'after the one that was under way and one of the other caller',
  );
});
