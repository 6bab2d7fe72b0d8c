/** Who takes nothing is waited for, and what waits for it meanwhile is bounded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { UpgradeServer, collectGarbage } from '@roundhouse/simulators';
import { contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import { FrontClients, frontOptions, fronts } from './support/fronts.ts';
import { answerPhase, phasePath, phases } from './support/session-phases.ts';

const sessions = 8;
/** Of this process, which has both ends of it, too: what the gateway holds is less. */
const mostPerSession = 1024 * 1024;

for (const front of fronts) {
  for (const phase of ['while the client takes nothing', 'while the cluster takes nothing'] as const) {
    test(`over ${front} little is kept ${phase}, however much the other side has to say`, async (t) => {
      const server = await UpgradeServer.listen({
        tls: upstreamTls,
        allowHalfOpen: true,
        answer: answerPhase,
      });
      t.after(() => server[Symbol.asyncDispose]());
      const { gateway } = await openRig(t, {
        ...frontOptions(front),
        contexts: () => ({ alpha: contextFor(server) }),
      });
      await using clients = new FrontClients(gateway.url, front);
      const held = async (): Promise<number> => {
        await collectGarbage();
        const { arrayBuffers, heapUsed } = process.memoryUsage();
        return arrayBuffers + heapUsed;
      };
      const before = await held();
      const open = await Promise.all(
        Array.from({ length: sessions }, () => clients.open({ path: phasePath(phase) })),
      );
      await Promise.all(open.map((session) => phases[phase].client(session)));
      // Until nothing moves any more: the operating system takes some megabytes.
      const moved = (): number =>
        server.connections.reduce((sum, { socket }) => sum + socket.bytesWritten + socket.bytesRead, 0);
      for (let last = -1; moved() !== last;) {
        last = moved();
        await sleep(200);
      }
      const perSession = ((await held()) - before) / sessions;
      assert.ok(perSession < mostPerSession, `${Math.round(perSession / 1024)} KiB for each session`);
      assert.equal(server.open, sessions);
    });
  }
}
