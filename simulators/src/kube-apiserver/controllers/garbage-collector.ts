/** Removes what is owned by nobody any more: objects all of whose owners are gone. */
import type { ClusterState } from '../cluster-state.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { Controller } from './controller.ts';

export class GarbageCollector implements Controller {
  readonly watches = undefined;
  readonly #cluster: ClusterState;
  #seen = 0;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  reconcile(): void {
    if (!this.#somethingWasDeleted()) return;
    const { objects, registry } = this.#cluster;
    const definitions = registry.all().filter(({ answer }) => answer === undefined);
    const alive = new Set<string>();
    for (const definition of definitions)
      for (const object of objects.collection(definition).all()) alive.add(object.metadata.uid ?? '');
    for (const definition of definitions) {
      for (const object of objects.collection(definition).all()) {
        const owners = object.metadata.ownerReferences ?? [];
        const orphaned = owners.length > 0 && owners.every(({ uid }) => !alive.has(uid));
        if (orphaned && object.metadata.deletionTimestamp === undefined)
          objects.remove(definition, namespaceOf(object), nameOf(object));
      }
    }
  }

  /** Looking at everything is worth it only then. A history that was compacted meanwhile counts as a yes. */
  #somethingWasDeleted(): boolean {
    const { objects, registry } = this.#cluster;
    const since = this.#seen;
    this.#seen = objects.versions.revision;
    return registry.all().some(
      (definition) =>
        objects
          .collection(definition)
          .history.after(since)
          ?.some(({ deleted }) => deleted) ?? true,
    );
  }
}
