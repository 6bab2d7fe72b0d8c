/** A process ends by itself: nothing that is only kept holds it, and nothing that is under way lets it go. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { MaterialFolder } from './rig/material-folder.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { run } from './rig/programs.ts';

endsWithNothingOpen();

const get = `
  import { Endpoint, TransportPool, directDialer } from '@roundhouse/transport';
  const get = (sender, options = {}) => new Promise((resolve, reject) => {
    let body = '';
    sender.dispatch({ method: 'GET', path: '/', headers: [], ...options }, {
      onResponseData: (_, chunk) => { body += chunk; },
      onResponseEnd: () => resolve(body),
      onResponseError: (_, error) => reject(error),
    });
  });
`;

/** Nothing here takes half a second, except a process that waits for an idle time to pass. */
const soonMs = 5_000;

describe('a process that has done its work', () => {
  test('is not held by files that are followed, though nobody has closed anything', async (t) => {
    const folder = await MaterialFolder.create(t);
    const authority = await CertificateAuthority.create();
    const serving = await authority.issue({ commonName: 'server', usage: 'server' });
    await folder.write({ ca: authority.certificatePem });
    await using server = await RecordingServer.listen({ tls: serving });
    const ran = await run(`${get}
      import { MaterialSource } from '@roundhouse/transport';
      const pool = new TransportPool({ limits: { maxIdlePerHost: 0 } });
      const material = MaterialSource.fromFiles({ caFile: '${folder.caFile}' });
      console.log(await get(pool.identity('cluster', { url: '${server.url}', material })));
    `);
    assert.deepEqual([ran.code, ran.stdout, ran.stderr], [0, 'ok\n', '']);
    assert.ok(ran.exitedAfterMs < soonMs, `${ran.exitedAfterMs} ms`);
  });

  test('BB-09: exits by itself after 1,000 transports were made and disposed of', async () => {
    await using server = await RecordingServer.listen();
    const ran = await run(`${get}
      const before = process.getActiveResourcesInfo().length;
      for (let index = 0; index < 1_000; index += 1) {
        await using pool = new TransportPool();
        const endpoint = Endpoint.from({ url: '${server.url}' });
        await using identity = pool.identity('cluster', endpoint);
        if (index % 10 === 0) await get(identity);
        using lease = pool.lease(endpoint);
      }
      console.log(process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).length);
    `);
    assert.deepEqual([ran.code, ran.stdout.trim(), ran.stderr], [0, '0', '']);
    assert.ok(ran.exitedAfterMs < soonMs, `${ran.exitedAfterMs} ms`);
  });

  for (const protocol of ['http/1.1', 'h2'] as const satisfies HttpProtocol[]) {
    test(`${protocol}: is not held by idle connections of a pool that nobody has closed`, async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol] });
      const ran = await run(`${get}
        const pool = new TransportPool();
        console.log(await get(pool.identity('x', Endpoint.from({ url: '${server.url}', alpn: '${protocol}' }))));
      `);
      assert.deepEqual([ran.code, ran.stdout.trim(), ran.stderr], [0, 'ok', '']);
      assert.ok(ran.exitedAfterMs < soonMs, `${ran.exitedAfterMs} ms`);
    });

    test(`${protocol}: gets to the end of close() before it exits`, async () => {
      await using server = await RecordingServer.listen({ protocols: [protocol] });
      const ran = await run(`${get}
        const pool = new TransportPool();
        await get(pool.identity('x', Endpoint.from({ url: '${server.url}', alpn: '${protocol}' })));
        await pool.close();
        console.log('closed');
      `);
      assert.deepEqual([ran.code, ran.stdout.trim(), ran.stderr], [0, 'closed', '']);
    });

    test(`${protocol}: waits for a request that is under way on a connection that was idle before`, async () => {
      await using server = await RecordingServer.listen({
        protocols: [protocol],
        handle: async (exchange) => {
          if (exchange.request.path === '/slow') {
            await new Promise((resolve) => setTimeout(resolve, 200));
          }
          await exchange.respond({ body: exchange.request.path });
        },
      });
      const ran = await run(`${get}
        const pool = new TransportPool();
        const identity = pool.identity('x', Endpoint.from({ url: '${server.url}', alpn: '${protocol}' }));
        await get(identity);
        void get(identity, { path: '/slow' }).then(console.log);
      `);
      assert.deepEqual([ran.code, ran.stdout.trim()], [0, '/slow']);
      assert.equal(server.accepted, 1);
    });
  }

  test('is not held by a connection that was opened and never used', async () => {
    await using server = await RecordingServer.listen({
      handle: async (exchange) => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        await exchange.respond({ body: 'ok' });
      },
    });
    const ran = await run(`${get}
      let dials = 0;
      const slowly = { id: 'slow', dial: async (...all) => {
        dials += 1;
        if (dials === 2) await new Promise((resolve) => setTimeout(resolve, 50));
        return directDialer.dial(...all);
      } };
      const pool = new TransportPool();
      const identity = pool.identity('x', Endpoint.from({ url: '${server.url}', dialer: slowly }));
      // The first is under way while the second, for which there is a dial, is given up.
      const first = get(identity);
      await get(identity, { timeoutMs: 10 }).catch(() => undefined);
      await first;
      console.log(JSON.stringify(pool.inspect().transports[0].connections), dials);
    `);
    const connections = '{"opening":0,"idle":2,"active":0,"draining":0} 2';
    assert.deepEqual([ran.code, ran.stdout.trim(), ran.stderr], [0, connections, '']);
    assert.ok(ran.exitedAfterMs < soonMs, `${ran.exitedAfterMs} ms`);
  });
});
