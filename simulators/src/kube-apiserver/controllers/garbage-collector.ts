/**
 * Garbage collection (kubernetes/pkg/controller/garbagecollector): removes what is owned by nobody any more, and does for deleted
 * owners what their finalizers ask for. What one round writes calls for the next, until nothing is left to do.
 */
import type { ClusterState } from '../cluster-state.ts';
import { nameOf, namespaceOf, withMetaList } from '../kube-object.ts';
import type { KubeObject, OwnerReference } from '../kube-object.ts';
import { foregroundFinalizer, isDeletedWith, orphanFinalizer, withoutFinalizer } from '../store/deletion.ts';
import type { Propagation } from '../store/deletion.ts';
import type { Change } from '../store/history.ts';
import type { Controller } from './controller.ts';
import { OwnerGraph } from './owner-graph.ts';
import type { OwnedObject } from './owner-graph.ts';

export class GarbageCollector implements Controller {
  readonly watches = undefined;
  readonly #cluster: ClusterState;
  /** Everything up to this revision has been looked at. */
  #seen = 0;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  reconcile(): void {
    const { versions } = this.#cluster.objects;
    const changes = versions.changesAfter(this.#seen);
    this.#seen = versions.revision;
    // Looking at everything is worth it only then. A history that was compacted meanwhile counts as a yes.
    if (changes !== undefined && !changes.some(concernsOwners)) return;
    const gone = (changes ?? []).filter(({ deleted }) => deleted);
    const graph = new OwnerGraph(this.#cluster, new Set(gone.map(({ object }) => object.metadata.uid ?? '')));
    for (const node of graph.all()) {
      if (isDeletedWith(orphanFinalizer, node.object)) this.#orphan(node, graph);
      else if (isDeletedWith(foregroundFinalizer, node.object)) this.#release(node, graph);
      else if (node.object.metadata.deletionTimestamp === undefined) this.#collect(node, graph);
    }
  }

  #orphan(owner: OwnedObject, graph: OwnerGraph): void {
    const { uid } = owner.object.metadata;
    for (const dependent of graph.dependentsOf(owner.object))
      this.#change(dependent, (current) => withOwners(current, (reference) => reference.uid !== uid));
    this.#change(owner, (current) => withoutFinalizer(current, orphanFinalizer));
  }

  /** Lets an owner go that has waited for its dependents. */
  #release(owner: OwnedObject, graph: OwnerGraph): void {
    if (graph.blockersOf(owner.object).length === 0)
      this.#change(owner, (current) => withoutFinalizer(current, foregroundFinalizer));
  }

  #collect(node: OwnedObject, graph: OwnerGraph): void {
    const { solid, dangling, waiting } = graph.ownersOf(node.object);
    const lost = new Set([...dangling, ...waiting].map(({ uid }) => uid));
    if (lost.size === 0) return;
    // One owner that stays is enough to stay; the others must not wait for it.
    if (solid.length > 0)
      return this.#change(node, (current) => withOwners(current, ({ uid }) => !lost.has(uid)));
    const dependents = graph.dependentsOf(node.object);
    if (waiting.length === 0 || dependents.length === 0) return this.#remove(node, undefined);
    // In a circle everybody would wait for everybody.
    if (dependents.some(({ object }) => isDeletedWith(foregroundFinalizer, object)))
      this.#change(node, unblocking);
    this.#remove(node, 'Foreground');
  }

  #remove({ definition, object }: OwnedObject, propagation: Propagation | undefined): void {
    const { uid = '' } = object.metadata;
    if (this.#isPresent({ definition, object }))
      this.#cluster.objects.remove(definition, namespaceOf(object), nameOf(object), {
        propagation,
        preconditions: { uid },
      });
  }

  #change({ definition, object }: OwnedObject, change: (current: KubeObject) => KubeObject): void {
    if (this.#isPresent({ definition, object }))
      this.#cluster.objects.change(definition, namespaceOf(object), nameOf(object), change);
  }

  /** An earlier step of the same round may have taken it out. */
  #isPresent({ definition, object }: OwnedObject): boolean {
    const present = this.#cluster.objects.find(definition, namespaceOf(object), nameOf(object));
    return present?.metadata.uid === object.metadata.uid;
  }
}

function concernsOwners({ deleted, object }: Change): boolean {
  const { deletionTimestamp, ownerReferences = [] } = object.metadata;
  return deleted || deletionTimestamp !== undefined || ownerReferences.length > 0;
}

function withOwners(object: KubeObject, keep: (reference: OwnerReference) => boolean): KubeObject {
  return withMetaList(object, { ownerReferences: (object.metadata.ownerReferences ?? []).filter(keep) });
}

function unblocking(object: KubeObject): KubeObject {
  const ownerReferences = (object.metadata.ownerReferences ?? []).map((reference) => ({
    ...reference,
    blockOwnerDeletion: false,
  }));
  return withMetaList(object, { ownerReferences });
}
