/** Keeps what is served in step with the CustomResourceDefinitions that are stored. */
import type { KubeObject } from '../kube-object.ts';
import { customResourceDefinitions } from '../resources/custom-resource-definitions.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import type { ResourceRegistry } from '../resources/resource-registry.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { customResources } from './custom-resource.ts';

interface Served {
  readonly crd: KubeObject;
  readonly definitions: readonly ResourceDefinition[];
}

export class CustomResources implements Disposable {
  readonly #registry: ResourceRegistry;
  readonly #objects: ObjectStore;
  readonly #subscription: Disposable;
  /** By name of the definition; an entry goes with it. */
  readonly #served = new Map<string, Served>();

  private constructor(registry: ResourceRegistry, objects: ObjectStore) {
    this.#registry = registry;
    this.#objects = objects;
    this.#subscription = objects.collection(customResourceDefinitions).onChange(() => this.#follow());
  }

  static start(registry: ResourceRegistry, objects: ObjectStore): CustomResources {
    return new CustomResources(registry, objects);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #follow(): void {
    const present = new Map(
      this.#objects
        .collection(customResourceDefinitions)
        .all()
        .map((crd) => [crd.metadata.name ?? '', crd] as const),
    );
    for (const [name, { definitions }] of this.#served) {
      if (present.has(name)) continue;
      this.#served.delete(name);
      for (const definition of definitions) this.#registry.remove(definition);
      // Whatever has not gone before goes with its kind.
      for (const definition of definitions.slice(0, 1)) this.#objects.purgeAll(definition);
    }
    for (const [name, crd] of present) {
      const before = this.#served.get(name);
      if (before?.crd.metadata.generation === crd.metadata.generation) continue;
      for (const definition of before?.definitions ?? []) this.#registry.remove(definition);
      const definitions = customResources(crd);
      for (const definition of definitions) this.#registry.add(definition);
      this.#served.set(name, { crd, definitions });
    }
  }
}
