// What runs in the two clusters: enough to look around in, different enough to tell them apart.

import type { KubeApiserverOptions } from '@roundhouse/simulators';

type Manifest = NonNullable<KubeApiserverOptions['seed']>[number];

interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly replicas: number;
}

export type ClusterName = 'alpha' | 'beta';

const workloads: Readonly<Record<ClusterName, readonly Workload[]>> = {
  alpha: [
    { namespace: 'default', name: 'signals', image: 'registry.example/signals:1.4.2', replicas: 2 },
    { namespace: 'yard', name: 'turntable', image: 'registry.example/turntable:2.0.1', replicas: 3 },
    { namespace: 'yard', name: 'timetable', image: 'registry.example/timetable:0.9.0', replicas: 1 },
  ],
  beta: [
    { namespace: 'default', name: 'tickets', image: 'registry.example/tickets:5.1.0', replicas: 2 },
    { namespace: 'freight', name: 'manifest', image: 'registry.example/manifest:1.0.3', replicas: 1 },
  ],
};

/** Those that are there from the start, as `namespace/name`. */
export function seededDeployments(cluster: ClusterName): readonly string[] {
  return workloads[cluster].map(({ namespace, name }) => `${namespace}/${name}`);
}

/** Objects in an order in which they can be created. */
export function seedFor(cluster: ClusterName): Manifest[] {
  const namespaces = new Set(
    workloads[cluster].map(({ namespace }) => namespace).filter((name) => name !== 'default'),
  );
  return [
    ...[...namespaces].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'greeting', namespace: 'default' },
      data: { text: `Hello from ${cluster}` },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'nothing-real', namespace: 'default' },
      type: 'Opaque',
      data: { word: Buffer.from('choo-choo').toString('base64') },
    },
    ...workloads[cluster].flatMap((workload) => [deployment(workload), service(workload)]),
  ];
}

function deployment({ namespace, name, image, replicas }: Workload): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name, image, ports: [{ containerPort: 8080 }] }] },
      },
    },
  };
}

function service({ namespace, name }: Workload): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: { app: name } },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }] },
  };
}
