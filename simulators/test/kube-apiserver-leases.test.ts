import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../src/kube-apiserver/json.ts';
import { ManualClock } from '../src/manual-clock.ts';
import { settle, startServer } from './kube-apiserver-client.ts';

const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  namespace: 'kube-node-lease',
  name: 'test-node-1',
} as const;

test('each node renews its lease every ten seconds, and the lease goes with the node', async () => {
  const clock = new ManualClock();
  await using server = await startServer({ controllers: true, clock });
  await settle(clock);
  const first = server.store.get(lease);
  assert.deepEqual(
    [at(first, 'spec', 'holderIdentity'), at(first, 'spec', 'leaseDurationSeconds')],
    ['test-node-1', 40],
  );
  for (let round = 0; round < 3; round += 1) {
    clock.advance(10_000);
    const renewedAt = Date.parse(String(at(server.store.get(lease), 'spec', 'renewTime')));
    assert.ok(clock.now() - renewedAt < 10_000, `round ${round}`);
  }
  server.store.delete({ apiVersion: 'v1', kind: 'Node', name: 'test-node-1' });
  await settle(clock);
  assert.equal(server.store.get(lease), undefined);
});
