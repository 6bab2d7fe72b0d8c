// One simulated cluster with an authority, a credential and some life of its own.

import { randomBytes } from 'node:crypto';
import { CertificateAuthority, KubeApiserver, type IssuedCertificate } from '@roundhouse/simulators';
import { Activity } from './activity.ts';
import { gatewayUser, rolesFor } from './people.ts';
import { seededDeployments, seedFor, type ClusterName } from './workloads.ts';

/** How the gateway authenticates: the two clusters differ, so that both ways are seen. */
export type ClusterCredential =
  | { readonly kind: 'token'; readonly token: string }
  /** Each as good as the other, so that one can be replaced by the next. */
  | { readonly kind: 'certificates'; readonly pairs: readonly IssuedCertificate[] };

export interface SimulatedCluster extends AsyncDisposable {
  readonly name: ClusterName;
  readonly url: string;
  readonly caPem: string;
  readonly credential: ClusterCredential;
}

export async function openCluster(name: ClusterName): Promise<SimulatedCluster> {
  await using resources = new AsyncDisposableStack();
  const authority = await CertificateAuthority.create({ name: `${name} demo authority` });
  const serving = await authority.issue({ commonName: `${name}.demo`, usage: 'server' });
  const token = randomBytes(24).toString('base64url');
  const apiserver = resources.use(
    await KubeApiserver.listen({
      name,
      tls: { ...serving, clientCaPem: authority.certificatePem },
      authentication: { tokens: { [token]: { username: gatewayUser } } },
      seed: [...seedFor(name), ...rolesFor(name)],
      // Slow enough for a person to see a pod start and stop.
      podStartMs: 2_000,
      podStopMs: 2_000,
    }),
  );
  resources.use(Activity.start(apiserver, seededDeployments(name)));
  const credential: ClusterCredential =
    name === 'alpha'
      ? { kind: 'token', token }
      : {
          kind: 'certificates',
          pairs: await Promise.all(
            [1, 2].map(() => authority.issue({ commonName: gatewayUser, usage: 'client' })),
          ),
        };
  const owned = resources.move();
  return {
    name,
    url: apiserver.url,
    caPem: authority.certificatePem,
    credential,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
