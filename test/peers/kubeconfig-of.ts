/** A kubeconfig with a context for each user, all at one server. JSON is YAML. */

/** @param tokens by the name of the user and context; the first is the current one, and an empty token is none */
export function kubeconfigOf(
  server: string,
  caPem: string,
  tokens: Readonly<Record<string, string>>,
): string {
  const entries = Object.entries(tokens);
  const cluster = { server, 'certificate-authority-data': Buffer.from(caPem).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': entries[0]?.[0],
    clusters: [{ name: 'cluster', cluster }],
    users: entries.map(([name, token]) => ({ name, user: token === '' ? {} : { token } })),
    contexts: entries.map(([name]) => ({ name, context: { cluster: 'cluster', user: name } })),
  });
}
