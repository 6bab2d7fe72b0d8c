// The two kubeconfigs of the demo: the one that tells the gateway of its clusters, and the one for kubectl.

import type { SimulatedCluster } from './simulated-cluster.ts';

/** For the gateway: one context a cluster, with addresses, authorities and credentials inline. */
export function clustersKubeconfig(clusters: readonly SimulatedCluster[]): string {
  return kubeconfig(
    clusters.map(({ name, url, caPem, credential }) => ({
      name,
      cluster: { server: url, 'certificate-authority-data': base64(caPem) },
      user:
        credential.kind === 'token'
          ? { token: credential.token }
          : {
              'client-certificate-data': base64(credential.certPem),
              'client-key-data': base64(credential.keyPem),
            },
    })),
  );
}

/** For kubectl: one context a cluster, all of them at the gateway. It listens on loopback and asks for no credential. */
export function clientKubeconfig(gatewayUrl: string, names: readonly string[]): string {
  return kubeconfig(
    names.map((name) => ({ name, cluster: { server: `${gatewayUrl}/clusters/${name}` }, user: {} })),
  );
}

interface Entry {
  readonly name: string;
  readonly cluster: Readonly<Record<string, string>>;
  readonly user: Readonly<Record<string, string>>;
}

/** JSON, which is YAML: kubectl and people read it alike, and no library is needed to write it. */
function kubeconfig(entries: readonly Entry[]): string {
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    users: entries.map(({ name, user }) => ({ name, user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    'current-context': entries[0]?.name,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
