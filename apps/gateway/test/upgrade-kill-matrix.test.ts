/**
 * Either side of a session dies, in each way and at each moment: within two seconds nothing is left of it on the other side either,
 * the gateway lives, and sessions beside it lose no byte.
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
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
  return { ...rig, server, clients, baseline, steady, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** So many at each of these moments. */
async function bring(
  clients: FrontClients,
  names: readonly PhaseName[],
): Promise<Map<PhaseName, AnySession[]>> {
  const sessions = new Map<PhaseName, AnySession[]>();
  await Promise.all(
    names.flatMap((name) =>
      Array.from({ length: victims }, async () => {
        const session = await clients.open({ path: phasePath(name) });
        sessions.set(name, [...(sessions.get(name) ?? []), session]);
        await phases[name].client(session);
      }),
    ),
  );
  return sessions;
}

async function allGone({ server, baseline, steady }: KillRig): Promise<void> {
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

for (const front of fronts) {
  // What was sent before a good end is still to be taken, for as long as the stall limit allows.
  const endable = phaseNames.filter((name) => name !== 'while the cluster takes nothing');
  for (const [way, names] of [
    ['fin', endable],
    ['rst', phaseNames],
  ] as const) {
    test(`BB-38, BB-40: over ${front} clients go by ${way}`, async (t) => {
      const rig = await openKillRig(t, front);
      const sessions = await bring(rig.clients, names);
      await rig.server.head(names.length * victims - 1);
      for (const session of [...sessions.values()].flat()) {
        const stream = 'socket' in session ? session.socket : session.stream;
        // After a FIN there is no RST of a socket of ours; the next byte for it makes one.
        if (way === 'fin' && !stream.writableEnded) {
          session.end();
          stream.resume();
        } else if (stream.writableEnded) {
          stream.destroy();
        } else {
          session.reset();
        }
      }
      await allGone(rig);
    });

    test(`BB-38, BB-40: over ${front} clusters go by ${way}`, async (t) => {
      const rig = await openKillRig(t, front);
      const sessions = await bring(rig.clients, phaseNames);
      await rig.server.head(phaseNames.length * victims - 1);
      for (const connection of rig.server.connections) {
        const { socket } = connection;
        if (way === 'fin' || socket.writableEnded) {
          socket.end();
          socket.resume();
        } else {
          connection.reset();
        }
      }
      await Promise.all(
        [...sessions.values()].flat().map(async (session) => {
          ('socket' in session ? session.socket : session.stream).resume();
          await session.gone();
        }),
      );
      await allGone(rig);
    });
  }
}
