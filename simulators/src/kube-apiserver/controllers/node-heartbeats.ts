/** The leases by which nodes say that they live. Owns the timer that renews them. */
import { microTimestamp } from '../clock.ts';
import type { Timer } from '../clock.ts';
import type { ClusterState } from '../cluster-state.ts';
import { objectAt } from '../json.ts';
import { nameOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { leases } from '../resources/leases.ts';
import { namespaces } from '../resources/namespaces.ts';
import { nodes } from '../resources/nodes.ts';
import type { Controller } from './controller.ts';

const home = 'kube-node-lease';
const durationSeconds = 40;
const renewalMs = 10_000;

export class NodeHeartbeats implements Controller, Disposable {
  readonly watches = [nodes];
  readonly #cluster: ClusterState;
  #renewal: Timer | undefined;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  /** Those that have none get theirs. */
  reconcile(): void {
    const { objects } = this.#cluster;
    this.#renewal ??= this.#renewLater();
    if (objects.find(namespaces, '', home)?.metadata.deletionTimestamp !== undefined) return;
    for (const node of objects.collection(nodes).all())
      if (objects.find(leases, home, nameOf(node)) === undefined) this.#create(node);
  }

  [Symbol.dispose](): void {
    this.#renewal?.cancel();
  }

  #create(node: KubeObject): void {
    const { objects, clock } = this.#cluster;
    const { apiVersion, kind, metadata } = node;
    const owner = { apiVersion, kind, name: nameOf(node), uid: metadata.uid ?? '' };
    objects.create(leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: nameOf(node), namespace: home, ownerReferences: [owner] },
      spec: {
        holderIdentity: nameOf(node),
        leaseDurationSeconds: durationSeconds,
        renewTime: microTimestamp(clock.now()),
      },
    });
  }

  #renewLater(): Timer {
    return this.#cluster.clock.setTimeout(() => {
      this.#renewal = this.#renewLater();
      this.#renew();
    }, renewalMs);
  }

  #renew(): void {
    const { objects, clock } = this.#cluster;
    const renewTime = microTimestamp(clock.now());
    for (const node of objects.collection(nodes).all()) {
      if (objects.find(leases, home, nameOf(node)) === undefined) continue;
      objects.change(leases, home, nameOf(node), (lease) => ({
        ...lease,
        spec: { ...objectAt(lease, 'spec'), renewTime },
      }));
    }
  }
}
