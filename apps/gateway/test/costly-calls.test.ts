/** What happens once for a cluster, or once for a connection, does not happen for each request. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ask } from './support/clients.ts';
import { CostlyCalls } from './support/costly-calls.ts';
import { authority, base64, contextFor, openRig } from './support/gateway-rig.ts';

const clusters = 40;

async function get(t: TestContext, agent: Agent, url: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request(url, { agent }).on('response', resolve).on('error', reject).end();
  const response = await promise;
  t.assert.deepEqual([response.statusCode, await text(response)], [200, 'ok']);
}

test(`G6, W3: ${clusters} clusters with certificates in turn: once their connections are there, a request reads no file, parses no certificate and hashes nothing`, async (t) => {
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
  assert.equal(rig.gateway.inspect().transports.length, clusters);
  {
    using calls = new CostlyCalls();
    await visitAll();
    await visitAll();
    assert.deepEqual(calls.names, []);
    await readFile(rig.kubeconfig);
    assert.deepEqual(calls.names, ['readFile'], 'the counting works');
  }
  assert.equal((await ask(rig.gateway.url, '/clusters/c0/version')).status, 200);
  assert.equal(rig.upstream.received, clusters * 3 + 1);
});
