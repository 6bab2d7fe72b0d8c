/**
 * The cluster's content for tests and demos: objects by apiVersion, kind and name, status included. Everything that is written
 * here is seen by watches like any other change.
 */
import { ApiError } from '../api-error.ts';
import { nameOf, namespaceOf, parseKubeObject } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import type { Json } from '../json.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import type { ResourceRegistry } from '../resources/resource-registry.ts';
import type { RemoveOptions } from './deletion.ts';
import { asShown } from './object-store.ts';
import type { ObjectStore, WriteOptions } from './object-store.ts';

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Left out for cluster-scoped kinds; `default` otherwise. */
  readonly namespace?: string;
}

export interface ListReference {
  readonly apiVersion: string;
  readonly kind: string;
  /** Left out for all namespaces. */
  readonly namespace?: string;
}

/** As the tests and demos that write here. */
const byHand: WriteOptions = { scope: 'everything', manager: 'simulator' };

export class StoreAccess {
  readonly #registry: ResourceRegistry;
  readonly #objects: ObjectStore;

  constructor(registry: ResourceRegistry, objects: ObjectStore) {
    this.#registry = registry;
    this.#objects = objects;
  }

  /** The newest resourceVersion. */
  get revision(): number {
    return this.#objects.versions.revision;
  }

  /** Creates, with status if given. Throws ApiError as a request would. */
  create(object: Json): KubeObject {
    const parsed = parseKubeObject(object);
    return this.#objects.create(this.#definition(parsed), parsed, byHand);
  }

  /** Creates, or replaces whatever is there. */
  put(object: Json): KubeObject {
    const parsed = parseKubeObject(object);
    const definition = this.#definition(parsed);
    const namespace = definition.namespaced ? namespaceOf(parsed) || 'default' : '';
    if (this.#objects.find(definition, namespace, nameOf(parsed)) === undefined) return this.create(parsed);
    return this.#objects.change(definition, namespace, nameOf(parsed), () => parsed, byHand);
  }

  get(reference: ObjectReference): KubeObject | undefined {
    const definition = this.#definition(reference);
    return this.#objects.find(definition, namespaceFor(definition, reference), reference.name);
  }

  /** In the order of namespace, then name. */
  list(reference: ListReference): readonly KubeObject[] {
    const definition = this.#definition(reference);
    const snapshot = this.#objects.collection(definition).snapshot();
    const objects = (snapshot?.entries ?? []).map(([, object]) => asShown(definition, object));
    return reference.namespace === undefined
      ? objects
      : objects.filter((object) => namespaceOf(object) === reference.namespace);
  }

  /** Throws NotFound, and Conflict when `change` keeps a resourceVersion that is not the present one. */
  update(reference: ObjectReference, change: (current: KubeObject) => KubeObject): KubeObject {
    const definition = this.#definition(reference);
    return this.#objects.change(
      definition,
      namespaceFor(definition, reference),
      reference.name,
      change,
      byHand,
    );
  }

  /** Like a DELETE: pods terminate first when controllers run. Throws NotFound. */
  delete(reference: ObjectReference, options: RemoveOptions = {}): void {
    const definition = this.#definition(reference);
    this.#objects.remove(definition, namespaceFor(definition, reference), reference.name, options);
  }

  /** Forgets the past: watches and continue tokens from before now get 410. */
  compact(): void {
    this.#objects.versions.compact();
  }

  #definition({
    apiVersion,
    kind,
  }: {
    readonly apiVersion: string;
    readonly kind: string;
  }): ResourceDefinition {
    const found = this.#registry.byKind(apiVersion, kind);
    if (found === undefined)
      throw ApiError.badRequest(`no matches for kind "${kind}" in version "${apiVersion}"`);
    return found;
  }
}

function namespaceFor(definition: ResourceDefinition, reference: ObjectReference): string {
  return definition.namespaced ? (reference.namespace ?? 'default') : '';
}
