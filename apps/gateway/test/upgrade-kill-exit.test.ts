/** The process on either side of many sessions is killed, at every moment of a session at once. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ResourceBaseline, UpgradeServer } from '@roundhouse/simulators';
import { contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import { FrontClients, frontOptions, fronts } from './support/fronts.ts';
import { execPath } from './support/session-client.ts';
import { answerPhase, phaseNames, phasePath, phases } from './support/session-phases.ts';
import { SteadySessions } from './support/steady-sessions.ts';

const withinMs = 2_000;
/** At each moment. */
const victims = 5;

interface Child {
  /** What it said. */
  readonly line: string;
  /** SIGKILL. Resolves when it is gone. */
  kill(): Promise<void>;
}

async function startChild(t: TestContext, ...words: string[]): Promise<Child> {
  const program = new URL('support/session-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [...process.execArgv.filter(isCondition), program, ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
    // It does not know the authority of this process, and is not here to verify it.
    env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  });
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  t.after(kill);
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([once(lines, 'line'), exited.then(() => [])]);
  lines.close();
  const [text] = line;
  assert.ok(typeof text === 'string', 'the process ended before it was ready');
  return { line: text, kill };
}

function isCondition(argument: string): boolean {
  return argument.startsWith('--conditions');
}

for (const front of fronts) {
  test(`BB-38: over ${front} the process of the clients is killed`, async (t) => {
    const server = await UpgradeServer.listen({
      tls: upstreamTls,
      allowHalfOpen: true,
      answer: answerPhase,
    });
    t.after(() => server[Symbol.asyncDispose]());
    const echo = await UpgradeServer.listen({ tls: upstreamTls });
    t.after(() => echo[Symbol.asyncDispose]());
    const rig = await openRig(t, {
      ...frontOptions(front),
      contexts: () => ({ alpha: contextFor(server), steady: contextFor(echo) }),
    });
    await using others = new FrontClients(rig.gateway.url, front);
    using steady = await SteadySessions.open(others, execPath.replace('alpha', 'steady'));
    const child = await startChild(t, 'client', rig.gateway.url, front, String(victims));
    assert.equal(server.open, phaseNames.length * victims);
    await child.kill();
    // The operating system ends its connections in order where everything was read; a cluster that takes nothing would let the
    // gateway wait for the stall limit, since what came before such an end is still to be taken.
    for (const { socket } of server.connections) socket.resume();
    await server.waitForOpen(0, { timeoutMs: withinMs });
    await rig.requestLines(phaseNames.length * victims);
    await steady.finish();
  });
}

test('BB-38: the process of the cluster is killed', async (t) => {
  const child = await startChild(t, 'cluster');
  const echo = await UpgradeServer.listen({ tls: upstreamTls });
  t.after(() => echo[Symbol.asyncDispose]());
  const rig = await openRig(t, {
    contexts: () => ({ alpha: contextFor({ url: child.line }), steady: contextFor(echo) }),
  });
  await using others = new FrontClients(rig.gateway.url, 'plain HTTP');
  using steady = await SteadySessions.open(others, execPath.replace('alpha', 'steady'));
  const baseline = ResourceBaseline.take();
  await using clients = new FrontClients(rig.gateway.url, 'plain HTTP');
  const sessions = await Promise.all(
    phaseNames.flatMap((name) =>
      Array.from({ length: victims }, async () => {
        const session = await clients.open({ path: phasePath(name) });
        await phases[name].client(session);
        return session;
      }),
    ),
  );
  await child.kill();
  await Promise.all(
    sessions.map(async (session) => {
      if ('socket' in session) session.socket.resume();
      await session.gone();
    }),
  );
  await baseline.returned({ timeoutMs: withinMs });
  await steady.finish();
});
