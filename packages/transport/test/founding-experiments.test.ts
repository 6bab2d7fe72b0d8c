/**
 * The experiments that Roundhouse began with. Each has its leaking form beside it as the control: if that one stops
 * leaking, the experiment has stopped showing anything.
 */

import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { CertificateAuthority, ManualClock, RecordingServer, collectGarbage } from '@roundhouse/simulators';
import type { Reply } from '@roundhouse/simulators';
import { Agent, fetch } from 'undici';
import type { Dispatcher } from 'undici';
import { Endpoint, TlsMaterial, TransportPool, profiles } from '@roundhouse/transport';

const calls = 100;
/** A server that wants to keep every connection for ten minutes, as many do. */
const promise = { 'keep-alive': 'timeout=600' };
const largeBody = Buffer.alloc(200_000, 'x');

/** What a program makes anew for each call: an address, a token, and some way to send. */
class ApiClient {
  readonly #url: string;
  readonly #token: string;
  readonly #dispatcher: Dispatcher;

  constructor(url: string, token: string, dispatcher: Dispatcher) {
    this.#url = url;
    this.#token = token;
    this.#dispatcher = dispatcher;
  }

  async get(path: string): Promise<{ status: number; read: () => Promise<string> }> {
    const response = await fetch(this.#url + path, {
      dispatcher: this.#dispatcher,
      headers: { authorization: `Bearer ${this.#token}` },
    });
    return { status: response.status, read: () => response.text() };
  }
}

interface Experiment {
  readonly reply: Reply;
  readonly status: number;
  readonly readBodies: boolean;
}

const experiments: Readonly<Record<string, Experiment>> = {
  'answers of 200': { reply: { headers: promise, body: 'ok' }, status: 200, readBodies: true },
  'answers of 503': {
    reply: { status: 503, headers: promise, body: 'not now' },
    status: 503,
    readBodies: true,
  },
  'bodies of 200 KB that nobody reads': {
    reply: { status: 503, headers: promise, body: largeBody },
    status: 503,
    readBodies: false,
  },
};

describe('the founding experiments', () => {
  let authority: CertificateAuthority;
  let certificate: { certPem: string; keyPem: string };

  before(async () => {
    authority = await CertificateAuthority.create();
    certificate = await authority.issue({ commonName: 'api', ipAddresses: ['127.0.0.1'], usage: 'server' });
  });

  const listen = (reply: Reply): Promise<RecordingServer> =>
    RecordingServer.listen({ tls: certificate, handle: (exchange) => exchange.respond(reply) });

  /** Returns the answer, which a caller may keep: undici gives a connection back when an unread response is collected. */
  const callOnce = async (client: ApiClient, experiment: Experiment): Promise<object> => {
    const answer = await client.get('/api');
    assert.equal(answer.status, experiment.status);
    if (experiment.readBodies) {
      await answer.read();
    }
    return answer;
  };

  for (const [name, experiment] of Object.entries(experiments)) {
    test(`${calls} fresh clients one after the other with ${name} share at most 2 connections`, async () => {
      await using server = await listen(experiment.reply);
      await using pool = new TransportPool();
      const dispatcher = pool.dispatcher({ material: TlsMaterial.fromPem({ ca: authority.certificatePem }) });
      for (let call = 0; call < calls; call += 1) {
        await callOnce(new ApiClient(server.url, `token-${call}`, dispatcher), experiment);
      }
      await collectGarbage();
      assert.ok(server.accepted <= 2, `${server.accepted} connections were accepted`);
      assert.ok(server.open >= 1 && server.open <= 2, `${server.open} connections are open`);
    });

    test(`control: a transport per client with ${name} leaves ${calls} connections open`, async () => {
      await using server = await listen(experiment.reply);
      const transports = new AsyncDisposableStack();
      const answers: object[] = [];
      for (let call = 0; call < calls; call += 1) {
        const agent = new Agent({ connect: { ca: authority.certificatePem } });
        // Only so that this process ends: the leaking program has no such list.
        transports.defer(() => agent.destroy());
        answers.push(await callOnce(new ApiClient(server.url, `token-${call}`, agent), experiment));
      }
      await collectGarbage();
      assert.equal(server.accepted, calls);
      assert.equal(server.open, calls);
      assert.equal(answers.length, calls);
      await transports.disposeAsync();
    });
  }

  for (const limit of [2, 7]) {
    test(`${calls} clients in parallel open at most the limit of ${limit} connections`, async () => {
      await using server = await listen({ headers: promise, body: 'ok' });
      await using pool = new TransportPool({
        limits: { maxConnectionsPerHost: limit, maxIdlePerHost: limit },
      });
      const dispatcher = pool.dispatcher({ material: TlsMaterial.fromPem({ ca: authority.certificatePem }) });
      await Promise.all(
        Array.from({ length: calls }, (_, call) =>
          callOnce(new ApiClient(server.url, `token-${call}`, dispatcher), experiments['answers of 200']!),
        ),
      );
      assert.equal(server.requests.length, calls);
      assert.ok(server.accepted <= limit, `${server.accepted} connections were accepted`);
    });
  }

  test('G1, G5: each request carries its own token, which arrives once and in order', async () => {
    await using server = await listen({ headers: promise, body: 'ok' });
    await using pool = new TransportPool({ limits: { maxConnectionsPerHost: 1 } });
    const dispatcher = pool.dispatcher({ material: TlsMaterial.fromPem({ ca: authority.certificatePem }) });
    for (let call = 0; call < calls; call += 1) {
      const answer = await new ApiClient(server.url, `token-${call}`, dispatcher).get('/api');
      await answer.read();
    }
    assert.deepEqual(
      server.requests.map((request) => request.headerValues('authorization')),
      Array.from({ length: calls }, (_, call) => [`Bearer token-${call}`]),
    );
    assert.equal(server.accepted, 1);
  });

  test('at most 2 connections per host and 10 in all stay idle, and none after 30 s although the server promises 600', async () => {
    await using hosts = new AsyncDisposableStack();
    const clock = new ManualClock();
    await using pool = new TransportPool({ clock, limits: { maxConnectionsPerHost: 5 } });
    const dispatcher = pool.dispatcher({ material: TlsMaterial.fromPem({ ca: authority.certificatePem }) });
    const servers: RecordingServer[] = [];
    for (let host = 0; host < 7; host += 1) {
      const server = await listen({});
      // All five must be there before one is answered, so that five connections are really open.
      server.handle = async (exchange) => {
        await server.waitForRequests(5);
        await exchange.respond({ headers: promise, body: 'ok' });
      };
      servers.push(hosts.use(server));
    }
    const open = (): number => servers.reduce((sum, server) => sum + server.open, 0);
    for (const server of servers) {
      const clients = Array.from({ length: 5 }, () => new ApiClient(server.url, 'token', dispatcher));
      await Promise.all(clients.map((client) => callOnce(client, experiments['answers of 200']!)));
      await server.waitUntil(() => server.open <= 2, 'at most 2 open');
    }
    // Seven hosts with two each would be fourteen: those that are idle longest are gone.
    await Promise.all(servers.slice(0, 2).map((server) => server.waitForOpen(0)));
    assert.equal(pool.inspect().totals.idleConnections, 10);
    assert.equal(open(), 10);

    assert.equal(profiles.apiClient.idleTimeoutMs, 30_000);
    clock.advance(29_999);
    assert.equal(pool.inspect().totals.idleConnections, 10);
    clock.advance(1);
    assert.equal(pool.inspect().totals.idleConnections, 0);
    await Promise.all(servers.map((server) => server.waitForOpen(0)));
  });

  test('the experiments leave no handle behind', async () => {
    await collectGarbage();
    const sockets = process.getActiveResourcesInfo().filter((resource) => /TCP|TLS|Timeout/.test(resource));
    assert.deepEqual(sockets, []);
  });
});

// The identity form of the same pool: one endpoint, spoken for by name.
test(`${calls} fresh dispatch calls through one identity use one connection when they come one after the other`, async () => {
  await using server = await RecordingServer.listen();
  await using pool = new TransportPool();
  const identity = pool.identity('server', Endpoint.from({ url: server.url }));
  for (let call = 0; call < calls; call += 1) {
    const response = await fetch(server.url, { dispatcher: identity.dispatcher });
    await response.text();
  }
  assert.equal(server.accepted, 1);
});
