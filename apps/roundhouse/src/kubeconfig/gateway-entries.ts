// What a kubeconfig needs so that a client reaches clusters through a gateway. Credentials are named by their files and
// not copied, so that they may be rotated.

export interface ServedCluster {
  readonly name: string;
  /** Below the gateway, for example `/clusters/alpha`. */
  readonly path: string;
}

export interface GatewayAccess {
  /** Scheme, host and port of the gateway; https with a certificate, http on loopback. */
  readonly server: URL;
  readonly clusters: readonly ServedCluster[];
  /** Put before each cluster's name to make the names of clusters and contexts. */
  readonly prefix: string;
  readonly certificateAuthority: string | undefined;
  readonly tokenFile: string | undefined;
  readonly clientCertificate: string | undefined;
  readonly clientKey: string | undefined;
}

export interface NamedEntry {
  readonly name: string;
}

export interface KubeconfigEntries {
  readonly clusters: readonly (NamedEntry & { readonly cluster: Readonly<Record<string, string>> })[];
  readonly users: readonly (NamedEntry & { readonly user: Readonly<Record<string, string>> })[];
  readonly contexts: readonly (NamedEntry & { readonly context: Readonly<Record<string, string>> })[];
}

/** One cluster and one context for each cluster; one user for all of them, when there are credentials. */
export function gatewayEntries(access: GatewayAccess): KubeconfigEntries {
  const user = present({
    tokenFile: access.tokenFile,
    'client-certificate': access.clientCertificate,
    'client-key': access.clientKey,
  });
  const userName = Object.keys(user).length === 0 ? undefined : `${access.prefix}roundhouse`;
  const named = access.clusters.map(({ name, path }) => ({ name: `${access.prefix}${name}`, path }));
  return {
    clusters: named.map(({ name, path }) => ({
      name,
      cluster: present({
        server: new URL(path, access.server).href,
        'certificate-authority': access.certificateAuthority,
      }),
    })),
    users: userName === undefined ? [] : [{ name: userName, user }],
    contexts: named.map(({ name }) => ({ name, context: present({ cluster: name, user: userName }) })),
  };
}

function present(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
