/** For each service with a selector, the addresses of the pods that it selects. */
import type { ClusterState } from '../cluster-state.ts';
import { listAt, numberAt, objectAt, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { labelsOf, nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { endpointSlices } from '../resources/endpoint-slices.ts';
import { pods } from '../resources/pods.ts';
import { services } from '../resources/services.ts';
import { hasCondition } from './conditions.ts';
import type { Controller } from './controller.ts';
import { controllerReference } from './owned-objects.ts';

export class EndpointSliceController implements Controller {
  readonly watches = [services, pods];
  readonly #cluster: ClusterState;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  reconcile(): void {
    const { objects } = this.#cluster;
    for (const service of objects.collection(services).all()) {
      const selector = Object.entries(objectAt(service, 'spec', 'selector'));
      // One that is on its way out waits for its slices to go, not for new ones.
      if (selector.length === 0 || service.metadata.deletionTimestamp !== undefined) continue;
      const selected = objects
        .collection(pods)
        .all()
        .filter(
          (pod) =>
            namespaceOf(pod) === namespaceOf(service) &&
            textAt(pod, 'status', 'podIP') !== '' &&
            selector.every(([key, value]) => labelsOf(pod)[key] === value),
        );
      this.#write(service, selected);
    }
  }

  #write(service: KubeObject, selected: readonly KubeObject[]): void {
    const { objects } = this.#cluster;
    const name = `${nameOf(service)}-${(service.metadata.uid ?? '').slice(0, 5)}`;
    const slice = sliceOf(service, selected, name);
    if (objects.find(endpointSlices, namespaceOf(service), name) === undefined)
      objects.create(endpointSlices, slice);
    else objects.change(endpointSlices, namespaceOf(service), name, () => slice);
  }
}

function sliceOf(service: KubeObject, selected: readonly KubeObject[], name: string): KubeObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace: namespaceOf(service),
      labels: {
        'kubernetes.io/service-name': nameOf(service),
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [controllerReference(service)],
    },
    addressType: 'IPv4',
    endpoints: selected.map(endpointOf),
    ports: listAt(service, 'spec', 'ports').map((port) => ({
      name: textAt(port, 'name'),
      protocol: textAt(port, 'protocol'),
      port: targetPort(port, selected[0]),
    })),
  };
}

function endpointOf(pod: KubeObject): JsonObject {
  const ready = hasCondition(pod, 'Ready') && pod.metadata.deletionTimestamp === undefined;
  return {
    addresses: [textAt(pod, 'status', 'podIP')],
    conditions: { ready, serving: ready, terminating: pod.metadata.deletionTimestamp !== undefined },
    nodeName: textAt(pod, 'spec', 'nodeName'),
    targetRef: { kind: 'Pod', namespace: namespaceOf(pod), name: nameOf(pod), uid: pod.metadata.uid },
  };
}

/** A name is looked up among the ports of the pod. */
function targetPort(port: Json, pod: KubeObject | undefined): number | undefined {
  const target = objectAt(port)['targetPort'];
  if (typeof target !== 'string') return typeof target === 'number' ? target : numberAt(port, 'port');
  const ports = listAt(pod, 'spec', 'containers').flatMap((container) => listAt(container, 'ports'));
  return numberAt(
    ports.find((candidate) => textAt(candidate, 'name') === target),
    'containerPort',
  );
}
