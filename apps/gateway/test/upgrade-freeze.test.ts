/** The network between goes silent and tells nobody: whatever was under way ends at its bound, on both sides, and nothing stays. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { Relay, ResourceBaseline, UpgradeServer } from '@roundhouse/simulators';
import { statusIn } from './support/clients.ts';
import { contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';
import { SessionClient, sessionHead } from './support/session-client.ts';
import type { SessionRequest } from './support/session-client.ts';
import { answerPhase, phasePath } from './support/session-phases.ts';
import type { PhaseName } from './support/session-phases.ts';

const boundMs = 400;
/** What a bound may be late by on a busy machine. */
const withinMs = 4 * boundMs + 2_000;
const limits = {
  headTimeoutMs: boundMs,
  dialTimeoutMs: boundMs / 2,
  requestTimeoutMs: boundMs,
  // Longer than a slow client needs to make room again.
  sessionStallTimeoutMs: 4 * boundMs,
};
const victims = 5;

interface FreezeRig extends Rig {
  readonly server: UpgradeServer;
  /** In front of the gateway. */
  readonly front: Relay;
  /** Between the gateway and the cluster. */
  readonly back: Relay;
  readonly base: string;
  /** Ends with `settled`, at the latest. */
  client(base: string, request?: SessionRequest): Promise<SessionClient>;
  /** The gateway has no connection left on either side. */
  settled(): Promise<void>;
}

async function open(t: TestContext): Promise<FreezeRig> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = stack.use(
    await UpgradeServer.listen({ tls: upstreamTls, allowHalfOpen: true, answer: answerPhase }),
  );
  const back = stack.use(await Relay.listen({ target: server }));
  const rig = await openRig(t, {
    limits,
    contexts: () => ({ alpha: contextFor({ url: `https://127.0.0.1:${back.port}` }) }),
  });
  const front = stack.use(await Relay.listen({ target: { port: Number(new URL(rig.gateway.url).port) } }));
  const baseline = ResourceBaseline.take();
  const clients: SessionClient[] = [];
  const client = async (base: string, request?: SessionRequest): Promise<SessionClient> => {
    const opened = await SessionClient.open(base, request);
    clients.push(opened);
    return opened;
  };
  const settled = async (): Promise<void> => {
    for (const opened of clients) opened[Symbol.dispose]();
    // What is frozen learns of the ends when it thaws.
    front.throttle(undefined);
    front.thaw();
    back.reset();
    await server.waitForOpen(0);
    await baseline.returned({ timeoutMs: withinMs });
  };
  return { ...rig, server, front, back, client, base: `http://127.0.0.1:${front.port}`, settled };
}

const many = <T>(make: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: victims }, make));
const at = (phase: PhaseName): SessionRequest => ({ path: phasePath(phase) });

/** Pings, as kubectl does all the time. */
const ping = '\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01';

/** The gateway is done with so many requests, and says this of each. */
async function ended(rig: FreezeRig, count: number): Promise<unknown[]> {
  const lines = await rig.requestLines(count);
  return [...new Set(lines.map(({ error }) => error))];
}

test('BB-48: clients freeze in the middle of the head', async (t) => {
  const rig = await open(t);
  const clients = await many(async () => {
    const client = await SessionClient.dial(rig.base);
    client.write(sessionHead(rig.gateway.url).slice(0, 60));
    return client;
  });
  await rig.front.waitForOpen(victims);
  rig.front.freeze();
  // Past the limit on a head, with what the sweep over them may add.
  await new Promise((resolve) => setTimeout(resolve, 3 * boundMs));
  rig.front.thaw();
  await Promise.all(clients.map((client) => client.gone()));
  for (const client of clients) assert.equal(client.status, 408);
  await rig.settled();
});

test('BB-48: clusters freeze while they are dialed: their clients are told at the limit', async (t) => {
  const rig = await open(t);
  rig.back.freeze();
  const clients = await many(() => rig.client(rig.gateway.url, { early: 'early' }));
  await Promise.all(clients.map((client) => client.gone()));
  for (const client of clients) {
    assert.equal(client.status, 504);
    assert.equal(statusIn(client.body).error, 'ERR_RH_DIAL_TIMEOUT');
  }
  // A dial that succeeds late has nobody who waits for it.
  rig.back.thaw();
  await rig.settled();
});

test('BB-48: clusters freeze before they have answered: their clients are told at the limit', async (t) => {
  const rig = await open(t);
  const clients = await many(() => rig.client(rig.gateway.url, at('in the middle of the 101')));
  await rig.server.head(victims - 1);
  rig.back.freeze();
  await Promise.all(clients.map((client) => client.gone()));
  for (const client of clients) {
    assert.equal(client.status, 504);
    assert.equal(statusIn(client.body).error, 'ERR_RH_REQUEST_TIMEOUT');
  }
  await rig.settled();
});

test('BB-48: clients freeze before there is an answer, and while there is output', async (t) => {
  const rig = await open(t);
  // Slower than the output, so that there is always something that waits to be taken.
  rig.front.throttle(2_000_000, 'down');
  await many(() => rig.client(rig.base, at('before the 101')));
  await many(async () => {
    const client = await rig.client(rig.base, at('while the client takes nothing'));
    await client.until(() => client.bytes > 100_000);
  });
  await rig.server.head(2 * victims - 1);
  rig.front.freeze();
  assert.deepEqual(
    new Set(await ended(rig, 2 * victims)),
    new Set(['ERR_RH_REQUEST_TIMEOUT', 'ERR_RH_SESSION_STALLED']),
  );
  await rig.server.waitForOpen(0, { timeoutMs: withinMs });
  await rig.settled();
});

test('BB-48: clusters freeze while there is output, and their clients ping them: both sides end', async (t) => {
  const rig = await open(t);
  const clients = await many(async () => {
    const client = await rig.client(rig.gateway.url, at('during output'));
    await client.until(() => client.body !== '');
    return client;
  });
  rig.back.freeze();
  for (const client of clients) client.write(ping);
  await Promise.all(clients.map((client) => client.closes()));
  for (const client of clients) assert.equal(client.ended, false, 'no good end');
  assert.deepEqual(await ended(rig, victims), ['ERR_RH_SESSION_STALLED']);
  await rig.settled();
});
