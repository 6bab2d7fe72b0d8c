import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, listAt, objectAt } from '../src/kube-apiserver/json.ts';
import type { Json } from '../src/kube-apiserver/json.ts';
import { ManualClock } from '../src/manual-clock.ts';
import { configMap, configMaps, openLines, open, startServer } from './kube-apiserver-client.ts';

const watch = `${configMaps}?watch=true`;

test('bookmarks tell how far a quiet watch is, so that it does not expire', async () => {
  await using server = await startServer({ bookmarkIntervalMs: 20 });
  await using events = await openLines(
    server,
    `${watch}&allowWatchBookmarks=true&resourceVersion=${server.store.revision}`,
  );
  server.store.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'elsewhere' } });
  const { type, object } = objectAt(await events.nextJson());
  assert.deepEqual([type, at(object, 'kind'), at(object, 'apiVersion')], ['BOOKMARK', 'ConfigMap', 'v1']);
  assert.equal(at(object, 'metadata', 'resourceVersion'), String(server.store.revision));
});

test('a watch with bookmarks that has ended leaves no timer behind', async () => {
  const clock = new ManualClock();
  await using server = await startServer({ clock });
  await using events = await openLines(
    server,
    `${watch}&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersion=${server.store.revision}`,
  );
  server.store.create(configMap('a'));
  assert.equal(at(await events.nextJson(), 'type'), 'ADDED');
  clock.advance(5000);
  assert.equal(at(await events.nextJson(), 'type'), 'BOOKMARK');
  assert.equal(await events.next(), undefined);
  assert.equal(clock.pending, 0);
});

test('a watch as a table sends the columns once', async () => {
  await using server = await startServer();
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  await using events = await openLines(server, `${watch}&resourceVersion=${server.store.revision}`, {
    accept,
  });
  server.store.create(configMap('a', { x: '1' }));
  server.store.create(configMap('b'));
  const [first, second] = [await events.nextJson(), await events.nextJson()];
  const cells = (event: Json | undefined) => listAt(event, 'object', 'rows', 0, 'cells').slice(0, 2);
  assert.equal(at(first, 'object', 'columnDefinitions', 0, 'name'), 'Name');
  assert.deepEqual(cells(first), ['a', 1]);
  assert.equal(at(second, 'object', 'columnDefinitions'), null);
  assert.deepEqual(cells(second), ['b', 0]);
});

test('a watch whose client does not read holds no events back for it: it is told 410 when the history has moved on', async () => {
  await using server = await startServer({ historyLimit: 50 });
  const stalled = await open(server, 'GET', `${watch}&resourceVersion=${server.store.revision}`);
  const filling = 'x'.repeat(64 * 1024);
  // More than socket buffers and the history hold together; each step lets the stream take what it can.
  for (let step = 0; step < 1000; step += 1) {
    server.store.put(configMap('a', { filling, step: String(step) }));
    await new Promise(setImmediate);
  }
  const lines = (await stalled.text()).trimEnd().split('\n');
  assert.ok(lines.length < 1000, `${lines.length} of 1000 events were sent`);
  const last = JSON.parse(lines.at(-1)!);
  assert.deepEqual([last.type, last.object.code], ['ERROR', 410]);
});

test('closing the server ends its watches', async () => {
  const server = await startServer();
  const response = await open(server, 'GET', `${watch}&resourceVersion=${server.store.revision}`);
  await server.close();
  await assert.rejects(response.text());
  assert.equal(server.open, 0);
});
