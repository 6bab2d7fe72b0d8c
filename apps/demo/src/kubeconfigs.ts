// The two kubeconfigs of the demo: the one that tells the gateway of its clusters, and the one for kubectl.

import type { Person } from './people.ts';
import type { ClusterName } from './workloads.ts';

/** What goes into a kubeconfig of a user. */
export type UserCredential =
  | { readonly kind: 'token'; readonly token: string }
  /** Names of files in the folder of the kubeconfig. */
  | { readonly kind: 'files'; readonly certFile: string; readonly keyFile: string };

export interface ServedCluster {
  readonly name: ClusterName;
  readonly url: string;
  readonly caPem: string;
  readonly credential: UserCredential;
}

/** For the gateway: one context a cluster. */
export function clustersKubeconfig(clusters: readonly ServedCluster[]): string {
  return kubeconfig({
    clusters: clusters.map(({ name, url, caPem }) => ({ name, server: url, caPem })),
    users: clusters.map(({ name, credential }) => ({ name, credential })),
    contexts: clusters.map(({ name }) => ({ name, cluster: name, user: name })),
  });
}

/** For kubectl, all of it at the gateway: a context a cluster for the administrator, and one for the developer in the namespace `yard`. */
export function clientKubeconfig(
  gateway: { readonly url: string; readonly caPem: string },
  clusters: readonly ClusterName[],
  { admin, dev }: { readonly admin: Person; readonly dev: Person },
): string {
  return kubeconfig({
    clusters: clusters.map((name) => ({
      name,
      server: `${gateway.url}/clusters/${name}`,
      caPem: gateway.caPem,
    })),
    users: [admin, dev].map(({ name, token }) => ({ name, credential: { kind: 'token', token } })),
    contexts: [
      ...clusters.map((name) => ({ name, cluster: name, user: admin.name })),
      { name: 'alpha-dev', cluster: 'alpha', user: dev.name, namespace: 'yard' },
    ],
  });
}

interface Contents {
  readonly clusters: readonly { readonly name: string; readonly server: string; readonly caPem: string }[];
  readonly users: readonly { readonly name: string; readonly credential: UserCredential }[];
  readonly contexts: readonly {
    readonly name: string;
    readonly cluster: string;
    readonly user: string;
    readonly namespace?: string;
  }[];
}

/** JSON, which is YAML: kubectl and people read it alike, and no library is needed to write it. The first context is the current one. */
function kubeconfig({ clusters, users, contexts }: Contents): string {
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: clusters.map(({ name, server, caPem }) => ({
      name,
      cluster: { server, 'certificate-authority-data': base64(caPem) },
    })),
    users: users.map(({ name, credential }) => ({ name, user: userFields(credential) })),
    contexts: contexts.map(({ name, ...context }) => ({ name, context })),
    'current-context': contexts[0]?.name,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function userFields(credential: UserCredential): Readonly<Record<string, string>> {
  return credential.kind === 'token'
    ? { token: credential.token }
    : { 'client-certificate': credential.certFile, 'client-key': credential.keyFile };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
