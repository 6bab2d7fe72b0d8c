/** That the real proxy-server and agent work in the hands of the Go client: what our own client is measured against. */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { KonnectivityPair, konnectivityPrograms } from './konnectivity-pair.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { runTunnelClient } from './tunnel-client.ts';

const bulkBytes = 64 * 1024 * 1024;
const skip = await whyNoGoPrograms([...konnectivityPrograms, 'tunnel-client']);

async function listen(server: Server, resources: AsyncDisposableStack): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  resources.use(server);
  const { port } = server.address() as AddressInfo;
  return `127.0.0.1:${port}`;
}

suite('real konnectivity under the Go client', { skip: skip ?? false }, () => {
  const resources = new AsyncDisposableStack();
  let pair: KonnectivityPair;
  before(async () => {
    pair = resources.use(await KonnectivityPair.start());
  });
  after(async () => resources.disposeAsync());

  async function untilNothingIsOpen(): Promise<void> {
    const end = performance.now() + 10_000;
    const open = async () =>
      [
        await pair.serverMetric('grpc_connections{service_method="Proxy"}'),
        await pair.agentMetric('open_endpoint_connections'),
      ] as const;
    while ((await open()).some((count) => count > 0)) {
      assert.ok(performance.now() < end, `still open: ${(await open()).join(' and ')}`);
      await delay(50);
    }
  }

  test('requests go through, one by one and many at once, and nothing is left at server and agent', async () => {
    const target = await listen(
      createHttpServer((_request, response) => response.end('hello')),
      resources,
    );
    for (const [count, parallel] of [
      [100, 1],
      [200, 50],
    ] as const) {
      const { done, failed, bytes, firstError } = await runTunnelClient(pair, {
        target,
        mode: 'requests',
        count,
        parallel,
      });
      assert.deepEqual([done, failed, bytes, firstError], [count, 0, count * 5, undefined]);
    }
    await untilNothingIsOpen();
  });

  test('every byte goes both ways', async () => {
    const payload = randomBytes(bulkBytes);
    const source = await listen(
      createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(payload))),
      resources,
    );
    const download = await runTunnelClient(pair, { target: source, mode: 'download' });
    assert.equal(download.bytes, bulkBytes);
    assert.equal(download.sha256, createHash('sha256').update(payload).digest('hex'));

    const hash = createHash('sha256');
    const sink = await listen(
      createServer((socket) => {
        let left = bulkBytes;
        socket
          .on('error', () => {})
          .on('data', (chunk) => {
            hash.update(chunk);
            left -= chunk.length;
            if (left === 0) socket.end(hash.copy().digest('hex'));
          });
      }),
      resources,
    );
    const upload = await runTunnelClient(pair, { target: sink, mode: 'upload', bytes: bulkBytes });
    assert.deepEqual([upload.bytes, upload.sha256], [bulkBytes, hash.digest('hex')]);
    await untilNothingIsOpen();
  });

  test('a host that no agent answers for, and a port where nobody listens, are told apart', async () => {
    const unknown = await runTunnelClient(pair, { target: 'elsewhere:443', mode: 'requests' });
    assert.match(unknown.firstError ?? '', /No agent available/);
    const refused = await runTunnelClient(pair, { target: '127.0.0.1:1', mode: 'requests' });
    assert.match(refused.firstError ?? '', /connect: connection refused/);
  });

  test('killed and started again, server and agent find each other', async () => {
    const target = await listen(
      createHttpServer((_request, response) => response.end('hello')),
      resources,
    );
    await pair.killServer();
    await pair.startServer();
    const end = performance.now() + 20_000;
    while (!(await pair.isReady())) {
      assert.ok(performance.now() < end, 'the agent does not come back');
      await delay(50);
    }
    await pair.killAgent();
    await pair.startAgent();
    assert.equal((await runTunnelClient(pair, { target, mode: 'requests' })).done, 1);
  });
});
