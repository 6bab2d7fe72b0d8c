/** Gives namespaces their service account, and empties those that are to go. */
import type { ClusterState } from '../cluster-state.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { namespaces } from '../resources/namespaces.ts';
import { serviceAccounts } from '../resources/service-accounts.ts';
import type { Controller } from './controller.ts';

export class NamespaceController implements Controller {
  // What is in a namespace may be anything, and its going is what a terminating namespace waits for.
  readonly watches = undefined;
  readonly #cluster: ClusterState;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  reconcile(): void {
    for (const namespace of this.#cluster.objects.collection(namespaces).all()) {
      if (namespace.metadata.deletionTimestamp === undefined) this.#furnish(namespace);
      else this.#empty(nameOf(namespace));
    }
  }

  #furnish(namespace: KubeObject): void {
    const { objects } = this.#cluster;
    if (objects.find(serviceAccounts, nameOf(namespace), 'default') !== undefined) return;
    objects.create(serviceAccounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'default', namespace: nameOf(namespace) },
    });
  }

  #empty(namespace: string): void {
    const { objects, registry } = this.#cluster;
    let left = 0;
    for (const definition of registry.stored().filter(({ namespaced }) => namespaced)) {
      for (const object of objects
        .collection(definition)
        .all()
        .filter((found) => namespaceOf(found) === namespace)) {
        if (
          object.metadata.deletionTimestamp !== undefined ||
          !objects.remove(definition, namespace, nameOf(object)).removed
        )
          left += 1;
      }
    }
    const finalizers = objects.find(namespaces, '', namespace)?.metadata.finalizers ?? [];
    if (left === 0 && finalizers.length === 0) objects.purge(namespaces, '', namespace);
  }
}
