/** A gateway whose cluster `alpha` answers requests for upgrades as a test says; `plain` is the rig's recorded one. */

import type { TestContext } from 'node:test';
import { UpgradeServer } from '@roundhouse/simulators';
import type { UpgradeServerOptions } from '@roundhouse/simulators';
import { contextFor, openRig, upstreamTls } from './gateway-rig.ts';
import type { Rig, RigOptions } from './gateway-rig.ts';

export async function openSessions(
  t: TestContext,
  server: UpgradeServerOptions = {},
  options: RigOptions = {},
): Promise<Rig & { readonly server: UpgradeServer }> {
  const upgrades = await UpgradeServer.listen({ tls: upstreamTls, ...server });
  t.after(() => upgrades[Symbol.asyncDispose]());
  const rig = await openRig(t, {
    contexts: (upstream) => ({ alpha: contextFor(upgrades), plain: contextFor(upstream) }),
    ...options,
  });
  return { ...rig, server: upgrades };
}
