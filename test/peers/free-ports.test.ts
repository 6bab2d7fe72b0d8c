import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { PortTaken, withFreePorts } from './free-ports.ts';
import { ServerProcess } from './server-process.ts';

test('ports are free and different, and others are chosen where one was taken meanwhile', async () => {
  const starts: (readonly number[])[] = [];
  const ports = await withFreePorts(5, async (chosen) => {
    starts.push(chosen);
    if (starts.length === 1) throw new PortTaken('somebody was faster');
    return chosen;
  });
  assert.deepEqual([starts.length, new Set(ports).size], [2, 5]);
  for (const port of ports) {
    await using server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  }
});

test('a start that fails for another reason, or again and again, fails', async () => {
  let starts = 0;
  const failing = (error: Error) =>
    withFreePorts(1, async () => {
      starts += 1;
      throw error;
    });
  await assert.rejects(failing(new Error('broken')), /broken/);
  assert.equal(starts, 1);
  await assert.rejects(failing(new PortTaken('again')), /again/);
  assert.equal(starts, 4);
});

test('a program that ends before it serves is told with what it said, and whether a port was the reason', async () => {
  const start = async (script: string) =>
    ServerProcess.start('server', '/bin/sh', ['-c', script], { isReady: async () => false });
  await assert.rejects(
    start('echo no such flag >&2; exit 1'),
    /^Error: server ended before it served:\nno such flag$/,
  );
  await assert.rejects(start('echo bind: address already in use >&2; exit 1'), PortTaken);
});
