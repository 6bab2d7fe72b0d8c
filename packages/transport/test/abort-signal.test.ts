/** One signal may serve a process for months: what listens to it is what is under way, and nothing else. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { sendWithOneSignal } from './rig/one-signal.ts';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';

endsWithNothingOpen();

describe('BB-61: one long-lived signal', () => {
  test('has no more listeners than there are requests under way, over 20,000 of every outcome', async () => {
    await sendWithOneSignal(20_000);
  });

  test('ends all that is under way, and what comes later at once', async () => {
    await using server = await RecordingServer.listen({ handle: (exchange) => exchange.writeHead(200) });
    await using pool = new TransportPool();
    using lease = pool.lease(Endpoint.from({ url: server.url }));
    const shutdown = new AbortController();
    const { signal } = shutdown;
    // Two ride, two wait.
    const calls = [1, 2, 3, 4].map(() => Call.start(lease, { signal }));
    await calls[0]!.head;
    assert.equal(getEventListeners(signal, 'abort').length, 4);
    shutdown.abort(new Error('shutting down'));
    const late = Call.start(lease, { signal });
    for (const call of [...calls, late]) {
      assert.equal(call.code, 'ERR_RH_ABORTED');
      assert.match(String(call.error?.cause), /shutting down/);
    }
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await server.waitForOpen(0);
  });
});
