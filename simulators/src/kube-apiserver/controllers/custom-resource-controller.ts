/** Takes the objects of a CustomResourceDefinition that is to go, then the definition itself. */
import type { ClusterState } from '../cluster-state.ts';
import { objectAt, textAt } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { customResourceDefinitions } from '../resources/custom-resource-definitions.ts';
import type { Controller } from './controller.ts';

export class CustomResourceController implements Controller {
  // Its objects may have finalizers, and their going is what a terminating definition waits for.
  readonly watches = undefined;
  readonly #cluster: ClusterState;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  reconcile(): void {
    for (const crd of this.#cluster.objects.collection(customResourceDefinitions).all())
      if (crd.metadata.deletionTimestamp !== undefined) this.#empty(crd);
  }

  #empty(crd: KubeObject): void {
    const { objects, registry } = this.#cluster;
    const spec = objectAt(crd, 'spec');
    const definition = registry
      .all()
      .find(
        ({ custom, group, resource }) =>
          custom && group === textAt(spec, 'group') && resource === textAt(spec, 'names', 'plural'),
      );
    let left = 0;
    for (const object of definition === undefined ? [] : objects.collection(definition).all()) {
      if (definition === undefined) continue;
      const going = object.metadata.deletionTimestamp !== undefined;
      if (going || !objects.remove(definition, namespaceOf(object), nameOf(object)).removed) left += 1;
    }
    if (left === 0 && (crd.metadata.finalizers ?? []).length === 0)
      objects.purge(customResourceDefinitions, '', nameOf(crd));
  }
}
