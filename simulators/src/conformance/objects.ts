/** Objects that the cases write. */

/** Replicas default to one. */
export function deployment(name: string, image = 'image:1') {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } },
    },
  };
}

export function deploymentsIn(namespace: string): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments`;
}
