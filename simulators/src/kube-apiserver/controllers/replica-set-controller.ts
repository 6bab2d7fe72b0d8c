/** Keeps as many pods of each replica set as it asks for. */
import type { ClusterState } from '../cluster-state.ts';
import { numberAt, objectAt } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { pods } from '../resources/pods.ts';
import { replicaSets } from '../resources/replica-sets.ts';
import { stringMap } from '../resources/workload-spec.ts';
import { hasCondition } from './conditions.ts';
import type { Controller } from './controller.ts';
import type { EventRecorder } from './event-recorder.ts';
import { claim, controllerReference, groupByController } from './owned-objects.ts';

const component = 'replicaset-controller';

export class ReplicaSetController implements Controller {
  readonly watches = [replicaSets, pods];
  readonly #cluster: ClusterState;
  readonly #recorder: EventRecorder;

  constructor(cluster: ClusterState, recorder: EventRecorder) {
    this.#cluster = cluster;
    this.#recorder = recorder;
  }

  reconcile(): void {
    const { objects } = this.#cluster;
    const sets = objects.collection(replicaSets).all();
    claim(objects, sets, pods);
    const owned = groupByController(objects.collection(pods));
    for (const set of sets) {
      if (set.metadata.deletionTimestamp !== undefined) continue;
      const present = (owned.get(set.metadata.uid ?? '') ?? []).filter(
        (pod) => pod.metadata.deletionTimestamp === undefined,
      );
      const missing = (numberAt(set, 'spec', 'replicas') ?? 0) - present.length;
      for (let count = 0; count < missing; count += 1) this.#createPod(set);
      for (const pod of missing < 0 ? victims(present, -missing) : []) this.#deletePod(set, pod);
      this.#writeStatus(set, present);
    }
  }

  #createPod(set: KubeObject): void {
    const template = objectAt(set, 'spec', 'template');
    const metadata = objectAt(template, 'metadata');
    const pod = this.#cluster.objects.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        generateName: `${nameOf(set)}-`,
        namespace: namespaceOf(set),
        labels: stringMap(objectAt(metadata, 'labels')),
        annotations: stringMap(objectAt(metadata, 'annotations')),
        ownerReferences: [controllerReference(set)],
      },
      spec: objectAt(template, 'spec'),
    });
    this.#recorder.record(set, {
      reason: 'SuccessfulCreate',
      message: `Created pod: ${nameOf(pod)}`,
      component,
    });
  }

  #deletePod(set: KubeObject, pod: KubeObject): void {
    this.#cluster.objects.remove(pods, namespaceOf(pod), nameOf(pod));
    this.#recorder.record(set, {
      reason: 'SuccessfulDelete',
      message: `Deleted pod: ${nameOf(pod)}`,
      component,
    });
  }

  #writeStatus(set: KubeObject, present: readonly KubeObject[]): void {
    const ready = present.filter((pod) => hasCondition(pod, 'Ready')).length;
    this.#cluster.objects.change(
      replicaSets,
      namespaceOf(set),
      nameOf(set),
      (current) => ({
        ...current,
        status: {
          replicas: present.length,
          fullyLabeledReplicas: present.length,
          ...(ready === 0 ? {} : { readyReplicas: ready, availableReplicas: ready }),
          observedGeneration: current.metadata.generation,
        },
      }),
      { scope: 'status' },
    );
  }
}

/** Those that do not run yet go first, then the youngest. */
function victims(present: readonly KubeObject[], count: number): readonly KubeObject[] {
  const order = (pod: KubeObject): string =>
    `${hasCondition(pod, 'Ready') ? '0' : '1'}${pod.metadata.creationTimestamp ?? ''}`;
  return present.toSorted((left, right) => (order(left) < order(right) ? 1 : -1)).slice(0, count);
}
