/**
 * Gives each deployment a replica set of its present template, and retires those of earlier ones once the new pods are ready. A
 * rollout is one step here: surge and unavailability limits are not kept.
 */
import { createHash } from 'node:crypto';
import { timestamp } from '../clock.ts';
import type { ClusterState } from '../cluster-state.ts';
import { at, canonicalText, numberAt, objectAt, textAt } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { deployments } from '../resources/deployments.ts';
import { replicaSets } from '../resources/replica-sets.ts';
import { stringMap } from '../resources/workload-spec.ts';
import { condition } from './conditions.ts';
import type { Controller } from './controller.ts';
import type { EventRecorder } from './event-recorder.ts';
import { claim, controllerReference, groupByController } from './owned-objects.ts';

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
    const present = objects.collection(deployments).all();
    claim(objects, present, replicaSets);
    const owned = groupByController(objects.collection(replicaSets));
    for (const deployment of present) {
      if (deployment.metadata.deletionTimestamp !== undefined) continue;
      this.#reconcileOne(deployment, owned.get(deployment.metadata.uid ?? '') ?? []);
    }
  }

  #reconcileOne(deployment: KubeObject, sets: readonly KubeObject[]): void {
    const desired = numberAt(deployment, 'spec', 'replicas') ?? 0;
    const hash = templateHash(deployment);
    const present = sets.find((set) => set.metadata.labels?.[hashLabel] === hash);
    const newest = sets.toSorted((left, right) => revisionOf(right) - revisionOf(left)).at(0);
    const highest = newest === undefined ? 0 : revisionOf(newest);
    const paused = at(deployment, 'spec', 'paused') === true;
    if (present === undefined && paused) {
      // No new template is rolled out meanwhile; the number of replicas is kept all the same.
      if (newest !== undefined) this.#scale(deployment, newest, desired, highest);
      this.#writeStatus(deployment, undefined, sets, highest);
      return;
    }
    // Somebody else's set may have the name, or one that is on its way out.
    if (present === undefined && this.#isTaken(deployment, hash)) return;
    const current = present ?? this.#createSet(deployment, hash, highest + 1);
    const others = sets.filter((set) => set !== present);
    const revision =
      present !== undefined && revisionOf(present) < highest ? highest + 1 : revisionOf(current);
    this.#scale(deployment, current, desired, revision, historyAnnotations(deployment));
    const takenOver = (numberAt(current, 'status', 'readyReplicas') ?? 0) >= desired;
    if (takenOver) for (const set of others) this.#scale(deployment, set, 0, revisionOf(set));
    const kept = this.#forgetOldest(deployment, others);
    this.#writeStatus(deployment, current, kept, revision);
  }

  /** Sets without pods, beyond `revisionHistoryLimit`; the rest is what `kubectl rollout undo` can go back to. */
  #forgetOldest(deployment: KubeObject, others: readonly KubeObject[]): readonly KubeObject[] {
    const limit = numberAt(deployment, 'spec', 'revisionHistoryLimit') ?? 10;
    const idle = others
      .filter(
        (set) =>
          (numberAt(set, 'spec', 'replicas') ?? 0) === 0 && (numberAt(set, 'status', 'replicas') ?? 0) === 0,
      )
      .toSorted((left, right) => revisionOf(right) - revisionOf(left));
    const gone = new Set(idle.slice(limit));
    for (const set of gone) this.#cluster.objects.remove(replicaSets, namespaceOf(set), nameOf(set));
    return others.filter((set) => !gone.has(set));
  }

  #isTaken(deployment: KubeObject, hash: string): boolean {
    const name = `${nameOf(deployment)}-${hash}`;
    return this.#cluster.objects.find(replicaSets, namespaceOf(deployment), name) !== undefined;
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
        annotations: { ...historyAnnotations(deployment), [revisionAnnotation]: String(revision) },
        ownerReferences: [controllerReference(deployment)],
      },
      spec: {
        replicas: 0,
        selector: { ...selector, matchLabels: { ...objectAt(selector, 'matchLabels'), [hashLabel]: hash } },
        template: { ...template, metadata: { ...objectAt(template, 'metadata'), labels } },
      },
    });
  }

  #scale(
    deployment: KubeObject,
    set: KubeObject,
    replicas: number,
    revision: number,
    annotations: Readonly<Record<string, string>> = {},
  ): void {
    const before = numberAt(set, 'spec', 'replicas') ?? 0;
    this.#cluster.objects.change(replicaSets, namespaceOf(set), nameOf(set), (current) => ({
      ...current,
      metadata: {
        ...current.metadata,
        annotations: {
          ...current.metadata.annotations,
          ...annotations,
          [revisionAnnotation]: String(revision),
        },
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
    /** Undefined: there is none yet, as the deployment is paused. */
    current: KubeObject | undefined,
    others: readonly KubeObject[],
    revision: number,
  ): void {
    const now = timestamp(this.#cluster.clock.now());
    const sum = (sets: readonly KubeObject[], field: string): number =>
      sets.reduce((total, set) => total + (numberAt(set, 'status', field) ?? 0), 0);
    const own = current === undefined ? [] : [current];
    const all = [...own, ...others];
    const desired = numberAt(deployment, 'spec', 'replicas') ?? 0;
    const available = sum(all, 'availableReplicas');
    const updated = sum(own, 'replicas');
    const done = updated >= desired && sum(own, 'availableReplicas') >= desired;
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
            condition(live, progress(done, current, at(live, 'spec', 'paused') === true), now),
          ],
        },
      }),
      { scope: 'everything', subresource: 'status' },
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

function progress(
  done: boolean,
  set: KubeObject | undefined,
  paused: boolean,
): Parameters<typeof condition>[1] {
  const type = 'Progressing';
  if (paused) return { type, status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' };
  const name = set === undefined ? '' : nameOf(set);
  return done
    ? {
        type,
        status: 'True',
        reason: 'NewReplicaSetAvailable',
        message: `ReplicaSet "${name}" has successfully progressed.`,
      }
    : {
        type,
        status: 'True',
        reason: 'ReplicaSetUpdated',
        message: `ReplicaSet "${name}" is progressing.`,
      };
}

/** What a set keeps of its deployment: `kubernetes.io/change-cause`, for `kubectl rollout history`, among others. */
function historyAnnotations(deployment: KubeObject): Readonly<Record<string, string>> {
  const own = new Set([revisionAnnotation, 'kubectl.kubernetes.io/last-applied-configuration']);
  return Object.fromEntries(
    Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => !own.has(name)),
  );
}

function revisionOf(set: KubeObject): number {
  return Number(textAt(set, 'metadata', 'annotations', revisionAnnotation)) || 0;
}

/** Ten characters that a label and a name may hold. */
function templateHash(deployment: KubeObject): string {
  const digest = createHash('sha256')
    .update(canonicalText(objectAt(deployment, 'spec', 'template')))
    .digest();
  return BigInt(`0x${digest.subarray(0, 8).toString('hex')}`)
    .toString(36)
    .padStart(10, '0')
    .slice(-10);
}
