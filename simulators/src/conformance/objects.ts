/** Objects that the cases write. */

export function configMap(name: string, data: Readonly<Record<string, string>>) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
}

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

/** It is on that node from the start, whether or not there is one; a finished scheduler's work. */
export function podOn(nodeName: string, name: string) {
  const spec = {
    nodeName,
    terminationGracePeriodSeconds: 30,
    containers: [{ name: 'main', image: 'image:1' }],
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
}

export function configMapsIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}

export function deploymentsIn(namespace: string): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments`;
}

export function podsIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}
