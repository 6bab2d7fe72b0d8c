/**
 * The header fields by which a cluster is told who is calling. They are ours: what a client sends under these names reaches
 * no cluster. Names are compared without case and with `_` as `-`, since servers behind may take the two for one.
 */

/** By which the kube-apiserver lets one user act as another. */
const impersonation = 'impersonate-';

/** By which an authenticating proxy speaks for its clients, or names their certificates. */
const frontProxy =
  /^(?:x-remote-(?:user|uid|group|extra-.*)|x-forwarded-(?:client-cert.*|user|group|groups|email|access-token|preferred-username)|x-client-cert.*|x-ssl-client-.*|ssl-client-.*)$/;

export function normaliseName(name: string): string {
  const lower = name.toLowerCase();
  return lower.includes('_') ? lower.replaceAll('_', '-') : lower;
}

/** Whether the client tries to be somebody else. @param name normalised */
export function isImpersonationField(name: string): boolean {
  return name.startsWith(impersonation);
}

/** Whether only somebody in front of a server may say this. @param name normalised */
export function isFrontProxyField(name: string): boolean {
  return frontProxy.test(name);
}

/** Whether the field says who is calling, in any way. @param name normalised */
export function isIdentityField(name: string): boolean {
  return name === 'authorization' || isImpersonationField(name) || isFrontProxyField(name);
}
