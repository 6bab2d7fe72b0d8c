// Deletion over time, which the conformance cases cannot set: grace periods, finalizers of what a controller ends, and namespaces.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listAt, textAt } from '../src/kube-apiserver/json.ts';
import type { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import { ManualClock } from '../src/manual-clock.ts';
import { call, pod, settle, startServer } from './kube-apiserver-client.ts';

const path = '/api/v1/namespaces/default/pods';

async function startLively(): Promise<{ server: KubeApiserver; clock: ManualClock }> {
  const clock = new ManualClock();
  const server = await startServer({ controllers: true, clock });
  await settle(clock);
  return { server, clock };
}

function podOn(nodeName: string, name: string) {
  const { spec, ...rest } = pod(name);
  return { ...rest, spec: { ...spec, nodeName } };
}

test('a shorter grace period counts from when the deletion began', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create(podOn('no-such-node', 'a'));
  const began = clock.now();
  await call(server, 'DELETE', `${path}/a`);
  clock.advance(7000);
  const { body } = await call(server, 'DELETE', `${path}/a?gracePeriodSeconds=10`);
  const end = Date.parse(textAt(body, 'metadata', 'deletionTimestamp'));
  assert.equal(end - Math.floor(began / 1000) * 1000, 10_000);
});

test('a pod on a node that is not there neither starts nor stops', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create(podOn('no-such-node', 'a'));
  await settle(clock);
  assert.equal(at((await call(server, 'GET', `${path}/a`)).body, 'status', 'phase'), 'Pending');
  await call(server, 'DELETE', `${path}/a`);
  await settle(clock);
  assert.equal((await call(server, 'GET', `${path}/a`)).status, 200);
});

test('a pod that has stopped is held by its finalizer, is stopped once, and goes with the finalizer', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  const held = { ...pod('a'), metadata: { ...pod('a').metadata, finalizers: ['example.com/hold'] } };
  server.store.create(held);
  await settle(clock);
  await call(server, 'DELETE', `${path}/a`);
  await settle(clock);
  const { body } = await call(server, 'GET', `${path}/a`);
  assert.equal(at(body, 'metadata', 'deletionGracePeriodSeconds'), 0);
  const events = await call(
    server,
    'GET',
    '/api/v1/namespaces/default/events?fieldSelector=reason%3DKilling',
  );
  assert.equal(listAt(events.body, 'items').length, 1);
  await call(server, 'PATCH', `${path}/a`, {
    type: 'application/merge-patch+json',
    body: { metadata: { finalizers: null } },
  });
  assert.equal((await call(server, 'GET', `${path}/a`)).status, 404);
});

test('a namespace with a finalizer of its own stays when it is empty, and goes with the finalizer', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'shop', finalizers: ['example.com/hold'] },
  });
  await settle(clock);
  await call(server, 'DELETE', '/api/v1/namespaces/shop');
  await settle(clock);
  const { body } = await call(server, 'GET', '/api/v1/namespaces/shop');
  assert.equal(at(body, 'status', 'phase'), 'Terminating');
  await call(server, 'PATCH', '/api/v1/namespaces/shop', {
    type: 'application/merge-patch+json',
    body: { metadata: { finalizers: null } },
  });
  await settle(clock);
  assert.equal((await call(server, 'GET', '/api/v1/namespaces/shop')).status, 404);
});

function service(namespace: string, finalizers: readonly string[] = []) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace, finalizers },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  };
}

test('a service that is deleted in the foreground goes after its endpoint slice, though its pods come and go', async () => {
  const { server, clock } = await startLively();
  await using _server = server;
  server.store.create(service('default', ['example.com/hold']));
  server.store.create(pod('a', { app: 'web' }));
  await settle(clock);
  const slices = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', namespace: 'default' };
  const own = () => server.store.list(slices).filter(({ metadata }) => metadata.name?.startsWith('web-'));
  assert.equal(own().length, 1);
  await call(server, 'DELETE', '/api/v1/namespaces/default/services/web?propagationPolicy=Foreground');
  server.store.create(pod('b', { app: 'web' }));
  await settle(clock);
  assert.deepEqual(own(), []);
  const left = server.store.get({ apiVersion: 'v1', kind: 'Service', name: 'web' });
  assert.deepEqual(left?.metadata.finalizers, ['example.com/hold']);
});
