/** Many clusters, each with a certificate of its own, asked one after the other. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { CostlyCalls } from './costly-calls.ts';
import { authority, base64, contextFor, openRig } from './gateway-rig.ts';

async function get(t: TestContext, agent: Agent, url: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(url, { agent }).on('response', resolve).on('error', reject).end();
  const response = await promise;
  t.assert.deepEqual([response.statusCode, await text(response)], [200, 'ok']);
}

/** Visits all of them three times, from one client. */
export async function visitClustersInTurn(t: TestContext, clusters: number): Promise<void> {
  const names = Array.from({ length: clusters }, (_, index) => `c${index}`);
  const certificates = await Promise.all(
    names.map((name) => authority.issue({ commonName: name, usage: 'client' })),
  );
  const rig = await openRig(t, {
    contexts: (upstream) =>
      Object.fromEntries(
        names.map((name, index) => [
          name,
          contextFor(upstream, {
            'client-certificate-data': base64(certificates[index]!.certPem),
            'client-key-data': base64(certificates[index]!.keyPem),
          }),
        ]),
      ),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const visitAll = async (): Promise<void> => {
    for (const name of names) {
      await get(t, agent, `${rig.gateway.url}/clusters/${name}/api/v1/pods`);
    }
  };
  await visitAll();
  const { transports, totals } = rig.gateway.inspect();
  assert.deepEqual([transports.length, totals.built], [clusters, clusters]);
  {
    using calls = new CostlyCalls();
    await visitAll();
    await visitAll();
    // The gateway looks at its own files in between, whoever asks for what.
    assert.ok(calls.names.length < clusters / 2, `in ${2 * clusters} requests: ${calls.names.join(', ')}`);
    const counted = calls.names.length;
    await readFile(rig.kubeconfig);
    assert.ok(calls.names.length > counted, 'the counting works');
  }
  assert.equal(rig.upstream.received, clusters * 3);
  assert.equal(rig.upstream.secured, clusters, 'one handshake each');
  const { built, evictions } = rig.gateway.inspect().totals;
  assert.deepEqual({ built, evictions }, { built: clusters, evictions: 0 });
}
