import { test } from 'node:test';
import { UpgradeServer } from '@roundhouse/simulators';
import { contextFor, openRig, upstreamTls } from './support/gateway-rig.ts';
import { FrontClients, frontOptions } from './support/fronts.ts';
import { answerPhase, phaseNames, phasePath, phases } from './support/session-phases.ts';
for (const front of ['plain HTTP', 'HTTP/2'] as const)
for (const name of phaseNames) test(front + name, async (t) => {
  const server = await UpgradeServer.listen({ tls: upstreamTls, allowHalfOpen: true, answer: answerPhase });
  t.after(() => server[Symbol.asyncDispose]());
  const rig = await openRig(t, { ...frontOptions(front), contexts: () => ({ alpha: contextFor(server) }) });
  await using clients = new FrontClients(rig.gateway.url, front);
  const s = await clients.open({ path: phasePath(name) });
  try { await phases[name].client(s); } finally { console.log(rig.log.filter(l => l['msg']==='request'), s.ended, s.error); }
});
