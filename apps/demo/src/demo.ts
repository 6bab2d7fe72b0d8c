// The demo as one owned thing: clusters and the gateway in front. What was opened last is closed first.

import { relative, resolve } from 'node:path';
import { clientKubeconfig, clustersKubeconfig } from './kubeconfigs.ts';
import type { DemoFolder } from './demo-folder.ts';
import { openGateway } from './gateway-in-front.ts';
import type { DemoOptions } from './options.ts';
import { openCluster } from './simulated-cluster.ts';
import type { DemoFacts } from './things-to-try.ts';

export interface Demo extends AsyncDisposable {
  readonly facts: DemoFacts;
}

/** Writes into `folder`, whose owner removes what was written. */
export async function openDemo(options: DemoOptions, folder: DemoFolder): Promise<Demo> {
  await using resources = new AsyncDisposableStack();
  const clusters = [resources.use(await openCluster('alpha')), resources.use(await openCluster('beta'))];
  const clustersFile = await folder.write('clusters.kubeconfig', clustersKubeconfig(clusters));
  const gateway = resources.use(await openGateway({ ...options, clustersFile }));
  const names = clusters.map(({ name }) => name);
  const kubeconfig = await folder.write('kubeconfig', clientKubeconfig(gateway.url, names));
  const owned = resources.move();
  return {
    facts: {
      gatewayUrl: gateway.url,
      adminUrl: gateway.adminUrl,
      kubeconfig: nameFromHere(kubeconfig),
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Short for a folder below this one, which is the usual case. */
function nameFromHere(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') ? resolve(path) : here;
}
