/** What a fresh cluster has before anybody creates anything. */
import { timestamp } from './clock.ts';
import type { ClusterState } from './cluster-state.ts';
import type { JsonObject } from './json.ts';

const nodeCount = 2;

export function initialObjects(cluster: ClusterState): readonly JsonObject[] {
  const names = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
  return [
    ...names.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    ...Array.from({ length: nodeCount }, (_, index) => node(cluster, index + 1)),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        labels: { component: 'apiserver', provider: 'kubernetes' },
      },
      spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kube-dns',
        namespace: 'kube-system',
        labels: {
          'k8s-app': 'kube-dns',
          'kubernetes.io/cluster-service': 'true',
          'kubernetes.io/name': 'CoreDNS',
        },
      },
      spec: {
        clusterIP: '10.96.0.10',
        ports: [{ name: 'dns', port: 53, protocol: 'UDP' }],
        selector: { 'k8s-app': 'kube-dns' },
      },
    },
  ];
}

function node({ name: cluster, version, clock }: ClusterState, number: number): JsonObject {
  const name = `${cluster}-node-${number}`;
  const now = timestamp(clock.now());
  const resources = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '64Gi', pods: '110' };
  const condition = (type: string, status: string, reason: string, message: string): JsonObject => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        ...(number === 1 ? { 'node-role.kubernetes.io/control-plane': '' } : {}),
      },
    },
    spec: { podCIDR: `10.244.${number}.0/24`, podCIDRs: [`10.244.${number}.0/24`] },
    status: {
      addresses: [
        { type: 'InternalIP', address: `192.0.2.${number}` },
        { type: 'Hostname', address: name },
      ],
      allocatable: resources,
      capacity: resources,
      conditions: [
        condition(
          'MemoryPressure',
          'False',
          'KubeletHasSufficientMemory',
          'kubelet has sufficient memory available',
        ),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
        condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
        condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
      ],
      nodeInfo: {
        architecture: 'amd64',
        operatingSystem: 'linux',
        osImage: 'Simulated Linux',
        kernelVersion: '6.12.0',
        containerRuntimeVersion: 'containerd://2.1.0',
        kubeletVersion: version,
        kubeProxyVersion: '',
        bootID: '',
        machineID: '',
        systemUUID: '',
      },
    },
  };
}
