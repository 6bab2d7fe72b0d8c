/**
 * Either side of a session dies, in each way and at each moment: within two seconds nothing is left of it on the other side either,
 * the gateway lives, and sessions beside it lose no byte.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ResourceBaseline, UpgradeServer } from '@roundhouse/simulators';
import { contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import type { Rig } from './support/gateway-rig.ts';
import { FrontClients, frontOptions, fronts } from './support/fronts.ts';
import type { AnySession, Front } from './support/fronts.ts';
import { execPath } from './support/session-client.ts';
import { answerPhase, phaseNames, phaseOf, phasePath, phases } from './support/session-phases.ts';
import type { PhaseName } from './support/session-phases.ts';
import { SteadySessions } from './support/steady-sessions.ts';

const withinMs = 2_000;
/** At each moment. */
const victims = 3;

interface KillRig extends Rig, AsyncDisposable {
  readonly server: UpgradeServer;
  readonly clients: FrontClients;
  /** Since the steady ones are there. */
  readonly baseline: ResourceBaseline;
  readonly steady: SteadySessions;
  /** Resolves when the gateway is done with so many sessions, whoever is still to notice. */
  over(count: number): Promise<void>;
}

async function openKillRig(t: TestContext, front: Front): Promise<KillRig> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const server = stack.use(
    await UpgradeServer.listen({ tls: upstreamTls, allowHalfOpen: true, answer: answerPhase }),
  );
  const echo = stack.use(await UpgradeServer.listen({ tls: upstreamTls }));
  const rig = await openRig(t, {
    ...frontOptions(front),
    contexts: () => ({ alpha: contextFor(server), steady: contextFor(echo) }),
  });
  const clients = stack.use(new FrontClients(rig.gateway.url, front));
  const others = stack.use(new FrontClients(rig.gateway.url, front));
  const steady = stack.use(await SteadySessions.open(others, execPath.replace('alpha', 'steady')));
  if (front === 'HTTP/2') await clients.http2();
  const baseline = ResourceBaseline.take();
  const over = async (count: number): Promise<void> => {
    const limit = AbortSignal.timeout(withinMs);
    await Promise.race([rig.requestLines(count), once(limit, 'abort').then(() => limit.throwIfAborted())]);
  };
  return {
    ...rig,
    server,
    clients,
    baseline,
    steady,
    over,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** So many at each of these moments. */
async function bring({ clients, server }: KillRig, names: readonly PhaseName[]): Promise<AnySession[]> {
  const sessions = await Promise.all(
    names.flatMap((name) =>
      Array.from({ length: victims }, async () => {
        const session = await clients.open({ path: phasePath(name) });
        await phases[name].client(session);
        return session;
      }),
    ),
  );
  await server.head(sessions.length - 1);
  return sessions;
}

async function allGone({ server, baseline, steady }: KillRig): Promise<void> {
  // Whoever takes nothing does not notice the end either.
  for (const { socket } of server.connections) socket.resume();
  await server.until(
    () => server.open === 0,
    () =>
      `still open: ${server.connections
        .filter(({ socket }) => !socket.destroyed)
        .map(phaseOf)
        .join(', ')}`,
    { timeoutMs: withinMs },
  );
  await baseline.returned({ timeoutMs: withinMs });
  await steady.finish();
}

/** A cluster must not take the reset of a client for an end in good order, where it had agreed and listens. */
function assertBrokenOff({ server }: KillRig): void {
  for (const connection of server.connections) {
    const phase = phaseOf(connection) ?? '';
    if (/^(?:between|during|while the client)/.test(phase)) assert.equal(connection.ended, false, phase);
  }
}

const streamOf = (session: AnySession) => ('socket' in session ? session.socket : session.stream);

for (const front of fronts) {
  const endable = phaseNames.filter(
    (name) =>
      // What was sent before a good end is still to be taken, for as long as the stall limit allows.
      name !== 'while the cluster takes nothing' &&
      // A stream of HTTP/2 may end its own side before it has an answer.
      (front !== 'HTTP/2' || !name.includes('101')),
  );
  for (const [way, names] of [
    ['fin', endable],
    ['rst', phaseNames],
  ] as const) {
    test(`BB-38, BB-40: over ${front} clients go by ${way}`, async (t) => {
      const rig = await openKillRig(t, front);
      const sessions = await bring(rig, names);
      for (const session of sessions) {
        const stream = streamOf(session);
        if (way === 'fin' && !stream.writableEnded) {
          session.end();
          stream.resume();
        } else if (stream.writableEnded) {
          // Of a socket of ours that has sent FIN there is no RST at once; the next byte for it makes one.
          stream.destroy();
        } else {
          session.reset();
        }
      }
      await rig.over(sessions.length);
      if (way === 'rst') assertBrokenOff(rig);
      await allGone(rig);
    });

    test(`BB-38, BB-40: over ${front} clusters go by ${way}`, async (t) => {
      const rig = await openKillRig(t, front);
      const sessions = await bring(rig, phaseNames);
      for (const connection of rig.server.connections) {
        const { socket } = connection;
        if (way === 'fin' || socket.writableEnded) {
          socket.end();
          socket.resume();
        } else {
          connection.reset();
        }
      }
      // A cluster that has ended its side leaves the other one to its client.
      if (way === 'rst') await rig.over(sessions.length - victims);
      await Promise.all(
        sessions.map(async (session) => {
          streamOf(session).resume();
          await session.gone();
        }),
      );
      await allGone(rig);
    });
  }
}

for (const way of ['fin', 'rst'] as const) {
  test(`BB-38, BB-40: the HTTP/2 connection under the streams of clients goes by ${way}`, async (t) => {
    const rig = await openKillRig(t, 'HTTP/2');
    const sessions = await bring(rig, phaseNames);
    if (way === 'fin') rig.clients.endHttp2();
    else rig.clients.resetHttp2();
    await rig.over(sessions.length);
    await allGone(rig);
  });
}
