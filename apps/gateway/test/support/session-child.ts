/**
 * A process of its own that holds one side of sessions, to be killed: `client BASE FRONT COUNT` opens so many at each moment, `cluster`
 * serves them and says where. Either writes one line when it is ready.
 */

import { UpgradeServer } from '@roundhouse/simulators';
import { FrontClients, fronts } from './fronts.ts';
import { answerPhase, phaseNames, phasePath, phases } from './session-phases.ts';

const [role, base = '', name, count] = process.argv.slice(2);
if (role === 'cluster') {
  const server = await UpgradeServer.listen({ allowHalfOpen: true, answer: answerPhase });
  process.stdout.write(`${server.url}\n`);
} else {
  const front = fronts.find((known) => known === name);
  if (front === undefined) throw new Error(`there is no front "${name}"`);
  const clients = new FrontClients(base, front);
  await Promise.all(
    phaseNames.flatMap((phase) =>
      Array.from({ length: Number(count) }, async () => {
        const session = await clients.open({ path: phasePath(phase) });
        await phases[phase].client(session);
      }),
    ),
  );
  process.stdout.write('ready\n');
}
