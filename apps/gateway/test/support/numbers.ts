/** The numbers that the gateway is held to, at a scale: small in every test run, whole in the full one. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { authority, base64, openRig } from './gateway-rig.ts';

export interface Scale {
  readonly sequential: number;
  readonly concurrent: number;
  readonly clusters: number;
  /** Transports that may stay unused. */
  readonly maxIdleTransports: number;
  readonly watches: number;
}

async function get(agent: Agent, url: string): Promise<IncomingMessage> {
  const outgoing = request(url, { agent });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
}

async function getOk(agent: Agent, url: string): Promise<void> {
  const response = await get(agent, url);
  const body = await text(response);
  assert.equal(response.statusCode, 200, body);
}

/** Many requests to one cluster: never more upstream connections than configured. */
export async function upstreamConnectionsStayWithinTheLimit(t: TestContext, scale: Scale): Promise<void> {
  const limit = 20;
  const { gateway, upstream } = await openRig(t, { limits: { maxConnectionsPerCluster: limit } });
  const one = new Agent({ keepAlive: true, maxSockets: 1 });
  const many = new Agent({ keepAlive: true });
  t.after(() => {
    one.destroy();
    many.destroy();
  });
  const url = `${gateway.url}/clusters/alpha/api/v1/namespaces`;
  for (let count = 0; count < scale.sequential; count += 1) {
    await getOk(one, url);
  }
  assert.equal(upstream.requests.length, scale.sequential);
  assert.equal(upstream.accepted, 1);

  await Promise.all(Array.from({ length: scale.concurrent }, () => getOk(many, url)));
  assert.equal(upstream.requests.length, scale.sequential + scale.concurrent);
  assert.ok(upstream.accepted <= limit, `${upstream.accepted} connections for a limit of ${limit}`);
}

/** Many clusters, each visited once: transports within the bound, and in the end no connection. */
export async function visitedClustersLeaveNothing(t: TestContext, scale: Scale): Promise<void> {
  const names = Array.from({ length: scale.clusters }, (_, index) => `c${index}`);
  const certificate = await authority.issue({
    commonName: 'clusters',
    dnsNames: ['*.clusters.test'],
    usage: 'server',
  });
  const { gateway, upstream } = await openRig(t, {
    upstream: { tls: certificate },
    contexts: (server) =>
      Object.fromEntries(
        names.map((name) => [
          name,
          {
            cluster: {
              server: server.url,
              'certificate-authority-data': base64(authority.certificatePem),
              // What tells them apart is the name that the server must prove.
              'tls-server-name': `${name}.clusters.test`,
            },
            user: { token: name },
          },
        ]),
      ),
    limits: { maxIdleTransports: scale.maxIdleTransports, idleTimeoutMs: 1_500 },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  t.after(() => agent.destroy());
  let most = 0;
  for (let from = 0; from < names.length; from += 4) {
    await Promise.all(
      names.slice(from, from + 4).map((name) => getOk(agent, `${gateway.url}/clusters/${name}/version`)),
    );
    most = Math.max(most, gateway.inspect().totals.transports);
  }
  assert.ok(
    most <= scale.maxIdleTransports + 4,
    `${most} transports for a bound of ${scale.maxIdleTransports}`,
  );
  assert.equal(gateway.inspect().totals.evictions, scale.clusters - scale.maxIdleTransports);
  // Each went where it was meant to go, by the name in the handshake and by the token.
  const strays = upstream.requests.filter(
    (seen) =>
      seen.headerValues('authorization')[0] !== `Bearer ${seen.connection.tls?.servername?.split('.')[0]}`,
  );
  assert.equal(strays.length, 0);
  assert.equal(upstream.requests.length, scale.clusters);
  await upstream.waitForOpen(0, { timeoutMs: 30_000 });
}

/** Watches on one cluster: a GET beside them is answered as fast as without. */
export async function watchesNeverSlowAGet(t: TestContext, scale: Scale): Promise<void> {
  const { gateway, upstream } = await openRig(t, {
    handle: async (exchange) => {
      if (exchange.request.path.includes('watch=')) {
        await exchange.writeHead(200, { 'content-type': 'application/json' });
        return;
      }
      await exchange.respond({ body: '{}' });
    },
  });
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const url = `${gateway.url}/clusters/alpha/api/v1/pods`;
  const medianMs = async (): Promise<number> => {
    const times: number[] = [];
    for (let count = 0; count < 60; count += 1) {
      const startedAt = performance.now();
      await getOk(agent, url);
      times.push(performance.now() - startedAt);
    }
    return times.toSorted((a, b) => a - b)[30] ?? Number.NaN;
  };
  await medianMs();
  const alone = await medianMs();
  const watches = await Promise.all(
    Array.from({ length: scale.watches }, () => get(agent, `${url}?watch=true`)),
  );
  // One of them took the connection of the GETs before.
  assert.equal(upstream.open, scale.watches);
  const beside = await medianMs();
  // A millisecond is the grain below which this says nothing.
  assert.ok(
    beside <= 4 * Math.max(alone, 1),
    `${beside} ms beside ${scale.watches} watches, ${alone} ms alone`,
  );
  for (const watch of watches) {
    watch.destroy();
  }
  // The watches' own connections end with them; the GETs' stays.
  await upstream.waitForOpen(1, { timeoutMs: 30_000 });
}
