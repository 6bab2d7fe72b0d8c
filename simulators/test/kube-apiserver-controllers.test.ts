import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../src/kube-apiserver/json.ts';
import type { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import type { KubeObject } from '../src/kube-apiserver/kube-object.ts';
import { ManualClock } from '../src/manual-clock.ts';
import { call, pod, settle, startServer } from './kube-apiserver-client.ts';

const pods = { apiVersion: 'v1', kind: 'Pod' } as const;
const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' } as const;

function deployment(replicas: number, image = 'image:1') {
  const labels = { app: 'web' };
  return {
    ...deployments,
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
    },
  };
}

function podsOf(server: KubeApiserver): readonly KubeObject[] {
  return server.store.list({ ...pods, namespace: 'default' });
}

function status(object: KubeObject | undefined): Record<string, unknown> {
  return (object?.['status'] ?? {}) as Record<string, unknown>;
}

async function startLively(): Promise<{ server: KubeApiserver; clock: ManualClock }> {
  const clock = new ManualClock();
  const server = await startServer({ controllers: true, clock });
  await settle(clock);
  return { server, clock };
}

test('a deployment gets its pods, they start on nodes, and its status says so', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create(deployment(3));
  await settle(clock);
  assert.equal(podsOf(server).length, 3);
  for (const each of podsOf(server)) assert.equal(status(each)['phase'], 'Running');
  const live = server.store.get({ ...deployments, name: 'web' });
  assert.deepEqual(
    [status(live)['readyReplicas'], status(live)['observedGeneration']],
    [3, live?.metadata.generation],
  );
});

test('scaling down removes pods, and a deleted pod is replaced', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create(deployment(3));
  await settle(clock);
  server.store.put(deployment(1));
  await settle(clock);
  const [left, ...more] = podsOf(server);
  assert.equal(more.length, 0);
  server.store.delete({ ...pods, name: left?.metadata.name ?? '' });
  await settle(clock);
  const [replacement] = podsOf(server);
  assert.notEqual(replacement?.metadata.name, left?.metadata.name);
});

test('a new template rolls out: new pods first, then the old ones go', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create(deployment(2));
  await settle(clock);
  const before = new Set(podsOf(server).map(({ metadata }) => metadata.name));
  server.store.put(deployment(2, 'image:2'));
  await settle(clock);
  assert.equal(podsOf(server).length, 2);
  for (const { metadata } of podsOf(server)) assert.equal(before.has(metadata.name), false);
  const revision = server.store.get({ ...deployments, name: 'web' })?.metadata.annotations?.[
    'deployment.kubernetes.io/revision'
  ];
  assert.equal(revision, '2');
});

test('what a deleted object owned goes with it', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create(deployment(2));
  await settle(clock);
  server.store.delete({ ...deployments, name: 'web' });
  await settle(clock);
  assert.deepEqual(
    [podsOf(server).length, server.store.list({ apiVersion: 'apps/v1', kind: 'ReplicaSet' }).length],
    [0, 0],
  );
});

test('a deleted pod terminates first; with --force it is gone at once', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  for (const name of ['slow', 'fast']) server.store.create(pod(name));
  await settle(clock);
  const path = '/api/v1/namespaces/default/pods';
  const marked = await call(server, 'DELETE', `${path}/slow`, { body: { gracePeriodSeconds: 7 } });
  assert.deepEqual([marked.status, at(marked.body, 'metadata', 'deletionGracePeriodSeconds')], [200, 7]);
  await call(server, 'DELETE', `${path}/fast?gracePeriodSeconds=0`);
  assert.deepEqual(
    podsOf(server).map(({ metadata }) => metadata.name),
    ['slow'],
  );
  await settle(clock);
  assert.deepEqual(podsOf(server), []);
});

test('a deleted namespace takes its content with it, and takes nothing new meanwhile', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  server.store.create({ ...pod('web'), metadata: { name: 'web', namespace: 'shop' } });
  await settle(clock);
  const marked = await call(server, 'DELETE', '/api/v1/namespaces/shop');
  assert.equal(at(marked.body, 'status', 'phase'), 'Terminating');
  const refused = await call(server, 'POST', '/api/v1/namespaces/shop/configmaps', {
    body: { metadata: { name: 'late' } },
  });
  assert.deepEqual([refused.status, at(refused.body, 'reason')], [403, 'Forbidden']);
  await settle(clock);
  assert.equal((await call(server, 'GET', '/api/v1/namespaces/shop')).status, 404);
  assert.deepEqual(server.store.list({ ...pods, namespace: 'shop' }), []);
});

test('a service has the addresses of the pods that it selects in its endpoint slice', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  const ports = [{ port: 80, targetPort: 8080 }];
  server.store.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports },
  });
  server.store.create(pod('yes', { app: 'web' }));
  server.store.create(pod('no', { app: 'db' }));
  await settle(clock);
  const slice = server.store
    .list({ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: 'default' })
    .find(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'web');
  const endpoints = slice?.['endpoints'] as { addresses: string[]; targetRef: { name: string } }[];
  assert.deepEqual(
    endpoints.map(({ targetRef }) => targetRef.name),
    ['yes'],
  );
  assert.equal(endpoints[0]?.addresses[0], status(server.store.get({ ...pods, name: 'yes' }))['podIP']);
});

test('a controller whose write is refused holds nobody up, and does it later when it may', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  const labels = { app: 'web', odd: 'no label value!' };
  const { spec, ...rest } = deployment(1);
  server.store.create({ ...rest, spec: { ...spec, template: { ...spec.template, metadata: { labels } } } });
  server.store.create(pod('a'));
  await settle(clock);
  assert.deepEqual(
    podsOf(server).map((each) => [each.metadata.name, status(each)['phase']]),
    [['a', 'Running']],
  );
  server.store.put(deployment(1));
  await settle(clock);
  assert.equal(podsOf(server).length, 2);
});

test('a server that is closed leaves no timer behind', async () => {
  const { server, clock } = await startLively();
  server.store.create(pod('web'));
  for (let round = 0; round < 5; round += 1) await new Promise(setImmediate);
  assert.equal(clock.pending, 2, 'the pod is about to start, and the nodes to renew their leases');
  await server.close();
  assert.equal(clock.pending, 0);
});
