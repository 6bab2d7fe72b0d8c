// The demo as one owned thing: clusters and the gateway in front. What was opened last is closed first.

import { relative, resolve } from 'node:path';
import { CertificateAuthority } from '@roundhouse/simulators';
import { clientKubeconfig, clustersKubeconfig, type UserCredential } from './kubeconfigs.ts';
import type { DemoFolder } from './demo-folder.ts';
import { openGateway } from './gateway-in-front.ts';
import type { DemoOptions } from './options.ts';
import { authorizationFile, invitePeople, tokenFile } from './people.ts';
import { openCluster, type SimulatedCluster } from './simulated-cluster.ts';
import type { DemoFacts } from './things-to-try.ts';

export interface Demo extends AsyncDisposable {
  readonly facts: DemoFacts;
}

/** Writes into `folder`, whose owner removes what was written. */
export async function openDemo(options: DemoOptions, folder: DemoFolder): Promise<Demo> {
  await using resources = new AsyncDisposableStack();
  const clusters = [resources.use(await openCluster('alpha')), resources.use(await openCluster('beta'))];
  const people = invitePeople();
  const authority = await CertificateAuthority.create({ name: 'roundhouse demo authority' });
  const serving = await authority.issue({ commonName: 'gateway.demo', usage: 'server' });
  const files = {
    clusters: await folder.write(
      'clusters.kubeconfig',
      clustersKubeconfig(
        await Promise.all(
          clusters.map(async (cluster) => ({
            ...cluster,
            credential: await writeCredential(cluster, folder),
          })),
        ),
      ),
    ),
    certificate: await folder.write('gateway.crt', serving.certPem),
    key: await folder.write('gateway.key', serving.keyPem),
    tokens: await folder.write('tokens.csv', tokenFile([people.admin, people.dev])),
    authorization: await folder.write('authorization.yaml', authorizationFile),
  };
  const gateway = resources.use(await openGateway({ ...options, files }));
  const kubeconfig = await folder.write(
    'kubeconfig',
    clientKubeconfig(
      { url: gateway.url, caPem: authority.certificatePem },
      clusters.map(({ name }) => name),
      people,
    ),
  );
  const owned = resources.move();
  return {
    facts: {
      gatewayUrl: gateway.url,
      adminUrl: gateway.adminUrl,
      kubeconfig: nameFromHere(kubeconfig),
      folder: nameFromHere(folder.path),
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/**
 * Certificates lie in files that the gateway follows: `beta.crt` and `beta.key`, and beside them the pairs that they may be replaced
 * by, `beta.1.crt` and so on; the first is the one that is in use.
 */
async function writeCredential(
  { name, credential }: SimulatedCluster,
  folder: DemoFolder,
): Promise<UserCredential> {
  if (credential.kind === 'token') return credential;
  const [first] = credential.pairs;
  for (const [stem, pair] of [
    [name, first] as const,
    ...credential.pairs.map((spare, index) => [`${name}.${index + 1}`, spare] as const),
  ]) {
    if (pair === undefined) continue;
    await folder.write(`${stem}.crt`, pair.certPem);
    await folder.write(`${stem}.key`, pair.keyPem);
  }
  return { kind: 'files', certFile: `${name}.crt`, keyFile: `${name}.key` };
}

/** Short for a folder below this one, which is the usual case. */
function nameFromHere(path: string): string {
  const here = relative(process.cwd(), path);
  return here.startsWith('..') ? resolve(path) : here;
}
