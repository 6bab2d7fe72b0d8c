/**
 * Gives each deployment a replica set of its present template, and retires those of earlier ones once the new pods are ready. A
 * rollout is one step here: surge and unavailability limits are not kept.
 */
import { createHash } from 'node:crypto';
import { timestamp } from '../clock.ts';
import type { ClusterState } from '../cluster-state.ts';
import { numberAt, objectAt, textAt } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { deployments } from '../resources/deployments.ts';
import { replicaSets } from '../resources/replica-sets.ts';
import { stringMap } from '../resources/workload-spec.ts';
import { condition } from './conditions.ts';
import type { Controller } from './controllers.ts';
import type { EventRecorder } from './event-recorder.ts';
import { controllerReference, groupByController } from './owned-objects.ts';

const hashLabel = 'pod-template-hash';
const revisionAnnotation = 'deployment.kubernetes.io/revision';

export class DeploymentController implements Controller {
  readonly watches = [deployments, replicaSets];
  readonly #cluster: ClusterState;
  readonly #recorder: EventRecorder;

  constructor(cluster: ClusterState, recorder: EventRecorder) {
    this.#cluster = cluster;
    this.#recorder = recorder;
  }

  reconcile(): void {
    const { objects } = this.#cluster;
    const owned = groupByController(objects.collection(replicaSets));
    for (const deployment of objects.collection(deployments).all()) {
      if (deployment.metadata.deletionTimestamp !== undefined) continue;
      this.#reconcileOne(deployment, owned.get(deployment.metadata.uid ?? '') ?? []);
    }
  }

  #reconcileOne(deployment: KubeObject, sets: readonly KubeObject[]): void {
    const desired = numberAt(deployment, 'spec', 'replicas') ?? 0;
    const hash = templateHash(deployment);
    const present = sets.find((set) => set.metadata.labels?.[hashLabel] === hash);
    const newest = sets.reduce((highest, set) => Math.max(highest, revisionOf(set)), 0);
    const current = present ?? this.#createSet(deployment, hash, newest + 1);
    const others = sets.filter((set) => set !== present);
    const revision = present !== undefined && revisionOf(present) < newest ? newest + 1 : revisionOf(current);
    this.#scale(deployment, current, desired, revision);
    const takenOver = (numberAt(current, 'status', 'readyReplicas') ?? 0) >= desired;
    if (takenOver) for (const set of others) this.#scale(deployment, set, 0, revisionOf(set));
    this.#writeStatus(deployment, current, others, revision);
  }

  #createSet(deployment: KubeObject, hash: string, revision: number): KubeObject {
    const template = objectAt(deployment, 'spec', 'template');
    const labels = { ...stringMap(objectAt(template, 'metadata', 'labels')), [hashLabel]: hash };
    const selector = objectAt(deployment, 'spec', 'selector');
    return this.#cluster.objects.create(replicaSets, {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `${nameOf(deployment)}-${hash}`,
        namespace: namespaceOf(deployment),
        labels,
        annotations: { [revisionAnnotation]: String(revision) },
        ownerReferences: [controllerReference(deployment)],
      },
      spec: {
        replicas: 0,
        selector: { ...selector, matchLabels: { ...objectAt(selector, 'matchLabels'), [hashLabel]: hash } },
        template: { ...template, metadata: { ...objectAt(template, 'metadata'), labels } },
      },
    });
  }

  #scale(deployment: KubeObject, set: KubeObject, replicas: number, revision: number): void {
    const before = numberAt(set, 'spec', 'replicas') ?? 0;
    this.#cluster.objects.change(replicaSets, namespaceOf(set), nameOf(set), (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        annotations: { ...current.metadata.annotations, [revisionAnnotation]: String(revision) },
      },
      spec: { ...objectAt(current, 'spec'), replicas },
    }));
    if (before === replicas) return;
    const message = `Scaled ${replicas > before ? 'up' : 'down'} replica set ${nameOf(set)} from ${before} to ${replicas}`;
    this.#recorder.record(deployment, {
      reason: 'ScalingReplicaSet',
      message,
      component: 'deployment-controller',
    });
  }

  #writeStatus(
    deployment: KubeObject,
    current: KubeObject,
    others: readonly KubeObject[],
    revision: number,
  ): void {
    const now = timestamp(this.#cluster.clock.now());
    const sum = (sets: readonly KubeObject[], field: string): number =>
      sets.reduce((total, set) => total + (numberAt(set, 'status', field) ?? 0), 0);
    const all = [current, ...others];
    const desired = numberAt(deployment, 'spec', 'replicas') ?? 0;
    const available = sum(all, 'availableReplicas');
    const updated = sum([current], 'replicas');
    const done = updated >= desired && sum([current], 'availableReplicas') >= desired;
    const minimum = available >= desired;
    this.#cluster.objects.change(
      deployments,
      namespaceOf(deployment),
      nameOf(deployment),
      (live) => ({
        ...live,
        metadata: {
          ...live.metadata,
          annotations: { ...live.metadata.annotations, [revisionAnnotation]: String(revision) },
        },
        status: {
          observedGeneration: live.metadata.generation,
          replicas: sum(all, 'replicas'),
          updatedReplicas: updated,
          readyReplicas: sum(all, 'readyReplicas'),
          availableReplicas: available,
          ...(available < desired ? { unavailableReplicas: desired - available } : {}),
          conditions: [
            condition(live, availableCondition(minimum), now),
            condition(live, { type: 'Progressing', status: 'True', ...progress(done, nameOf(current)) }, now),
          ],
        },
      }),
      { scope: 'everything' },
    );
  }
}

function availableCondition(minimum: boolean): Parameters<typeof condition>[1] {
  return {
    type: 'Available',
    status: minimum ? 'True' : 'False',
    reason: minimum ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: minimum
      ? 'Deployment has minimum availability.'
      : 'Deployment does not have minimum availability.',
  };
}

function progress(done: boolean, set: string): { reason: string; message: string } {
  return done
    ? { reason: 'NewReplicaSetAvailable', message: `ReplicaSet "${set}" has successfully progressed.` }
    : { reason: 'ReplicaSetUpdated', message: `ReplicaSet "${set}" is progressing.` };
}

function revisionOf(set: KubeObject): number {
  return Number(textAt(set, 'metadata', 'annotations', revisionAnnotation)) || 0;
}

/** Ten characters that a label and a name may hold. */
function templateHash(deployment: KubeObject): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(objectAt(deployment, 'spec', 'template')))
    .digest();
  return BigInt(`0x${digest.subarray(0, 8).toString('hex')}`)
    .toString(36)
    .padStart(10, '0')
    .slice(-10);
}
