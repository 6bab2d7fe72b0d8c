/** That the real proxy-server and agent work in the hands of the Go client: what our own client is measured against. */

import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { after, before, suite, test } from 'node:test';
import { KonnectivityPair, konnectivityPrograms } from './konnectivity-pair.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { runTunnelClient } from './tunnel-client.ts';
import { digestOfSource, listenFor, sinkOf, sourceOf } from './tunnel-targets.ts';
import { untilTrue } from './until-true.ts';

const bulkBytes = 64 * 1024 * 1024;
const skip = await whyNoGoPrograms([...konnectivityPrograms, 'tunnel-client']);

suite('real konnectivity under the Go client', { skip: skip ?? false }, () => {
  const resources = new AsyncDisposableStack();
  let pair: KonnectivityPair;
  before(async () => {
    pair = resources.use(await KonnectivityPair.start());
  });
  after(async () => resources.disposeAsync());

  const untilNothingIsOpen = async (): Promise<void> =>
    untilTrue(
      async () =>
        (await pair.serverMetric('grpc_connections{service_method="Proxy"}')) === 0 &&
        (await pair.agentMetric('open_endpoint_connections')) === 0,
      'nothing is open at server and agent',
    );

  test('requests go through, one by one and many at once, and nothing is left at server and agent', async () => {
    const target = await listenFor(
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
    const download = await runTunnelClient(pair, {
      target: await listenFor(sourceOf(bulkBytes), resources),
      mode: 'download',
    });
    assert.deepEqual([download.bytes, download.sha256], [bulkBytes, digestOfSource(bulkBytes)]);
    const upload = await runTunnelClient(pair, {
      target: await listenFor(sinkOf(bulkBytes), resources),
      mode: 'upload',
      bytes: bulkBytes,
    });
    assert.equal(upload.bytes, bulkBytes);
    assert.match(upload.sha256 ?? '', /^[0-9a-f]{64}$/);
    await untilNothingIsOpen();
  });

  test('a host that no agent answers for, and a port where nobody listens, are told apart', async () => {
    const unknown = await runTunnelClient(pair, { target: 'elsewhere:443', mode: 'requests' });
    assert.match(unknown.firstError ?? '', /No agent available/);
    const refused = await runTunnelClient(pair, { target: '127.0.0.1:1', mode: 'requests' });
    assert.match(refused.firstError ?? '', /connect: connection refused/);
  });

  test('killed and started again, server and agent find each other', async () => {
    const target = await listenFor(
      createHttpServer((_request, response) => response.end('hello')),
      resources,
    );
    await pair.killServer();
    await pair.startServer();
    await untilTrue(async () => pair.isReady(), 'the agent is back', 20_000);
    await pair.killAgent();
    await pair.startAgent();
    assert.equal((await runTunnelClient(pair, { target, mode: 'requests' })).done, 1);
  });
});
