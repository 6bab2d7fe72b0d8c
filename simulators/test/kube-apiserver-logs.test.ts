import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, textAt } from '../src/kube-apiserver/json.ts';
import { ManualClock } from '../src/manual-clock.ts';
import { call, openLines, pod, startServer } from './kube-apiserver-client.ts';

const log = '/api/v1/namespaces/default/pods/web/log';

function running(name: string, ...containers: readonly string[]) {
  return {
    ...pod(name),
    spec: { containers: containers.map((container) => ({ name: container, image: 'i' })) },
    status: { phase: 'Running' },
  };
}

test('a log is what was written, or its tail, since a time, with timestamps, up to so many bytes', async () => {
  const clock = new ManualClock();
  await using server = await startServer({ clock });
  server.store.create(running('web', 'main'));
  for (const line of ['one', 'two', 'three']) {
    server.appendLog({ name: 'web' }, line);
    clock.advance(10_000);
  }
  const read = async (query: string) => (await call(server, 'GET', `${log}?${query}`)).body;
  assert.equal(await read(''), 'one\ntwo\nthree\n');
  assert.equal(await read('tailLines=1'), 'three\n');
  assert.equal(await read('tailLines=0'), '');
  assert.equal(await read('sinceSeconds=21'), 'two\nthree\n');
  assert.equal(await read('sinceTime=2026-01-01T00:00:20Z'), 'three\n');
  assert.equal(await read('limitBytes=5'), 'one\nt');
  assert.equal(await read('tailLines=1&timestamps=true'), '2026-01-01T00:00:20.000000000Z three\n');
});

test('a followed log goes on with new lines, and ends with its pod', async () => {
  await using server = await startServer();
  server.store.create(running('web', 'main'));
  server.appendLog({ name: 'web' }, 'before');
  await using lines = await openLines(server, `${log}?follow=true`);
  assert.equal(await lines.next(), 'before');
  server.appendLog({ name: 'web' }, 'after');
  assert.equal(await lines.next(), 'after');
  server.store.delete({ apiVersion: 'v1', kind: 'Pod', name: 'web' });
  assert.equal(await lines.next(), undefined);
});

test('of several containers one must be named', async () => {
  await using server = await startServer();
  server.store.create(running('web', 'main', 'side'));
  server.appendLog({ name: 'web', container: 'side' }, 'from the side');
  const { status, body } = await call(server, 'GET', log);
  assert.deepEqual(
    [status, at(body, 'message')],
    [400, 'a container name must be specified for pod web, choose one of: [main side]'],
  );
  assert.equal((await call(server, 'GET', `${log}?container=side`)).body, 'from the side\n');
  assert.equal((await call(server, 'GET', `${log}?container=none`)).status, 400);
});

test('a container that waits has no log yet', async () => {
  await using server = await startServer();
  server.store.create(pod('web'));
  const { status, body } = await call(server, 'GET', log);
  assert.deepEqual(
    [status, at(body, 'message')],
    [400, 'container "main" in pod "web" is waiting to start: ContainerCreating'],
  );
});

test('a log keeps its newest lines, and a new pod of the same name begins an empty one', async () => {
  await using server = await startServer();
  server.store.create(running('web', 'main'));
  for (let line = 0; line < 12_000; line += 1) server.appendLog({ name: 'web' }, String(line));
  const kept = textAt((await call(server, 'GET', log)).body)
    .trimEnd()
    .split('\n');
  assert.equal(kept.at(-1), '11999');
  assert.ok(kept.length >= 5000 && kept.length <= 10_000, String(kept.length));
  server.store.delete({ apiVersion: 'v1', kind: 'Pod', name: 'web' });
  server.store.create(running('web', 'main'));
  assert.equal((await call(server, 'GET', log)).body, '');
});
