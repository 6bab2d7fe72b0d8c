/**
 * Who owns whom, at one moment. An owner is known by its uid; it owns what is in its own namespace, or anything if it is in none.
 */
import type { ClusterState } from '../cluster-state.ts';
import { namespaceOf } from '../kube-object.ts';
import type { KubeObject, OwnerReference } from '../kube-object.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import { foregroundFinalizer, isDeletedWith } from '../store/deletion.ts';

export interface OwnedObject {
  readonly definition: ResourceDefinition;
  readonly object: KubeObject;
}

/** References of one object by what has become of their owners. */
export interface Owners {
  /** They are there. */
  readonly solid: readonly OwnerReference[];
  /** They are gone. */
  readonly dangling: readonly OwnerReference[];
  /** They are being deleted, and wait for their dependents. */
  readonly waiting: readonly OwnerReference[];
}

export class OwnerGraph {
  readonly #registry: ClusterState['registry'];
  /** By uid. */
  readonly #objects = new Map<string, OwnedObject>();
  /** By uid of the owner. */
  readonly #dependents = new Map<string, OwnedObject[]>();
  /** Uids of which it is known that their objects are gone. */
  readonly #gone: ReadonlySet<string>;

  constructor({ objects, registry }: ClusterState, gone: ReadonlySet<string>) {
    this.#registry = registry;
    this.#gone = gone;
    for (const definition of registry.stored().filter(({ collected }) => collected)) {
      for (const object of objects.collection(definition).all()) {
        const node = { definition, object };
        this.#objects.set(object.metadata.uid ?? '', node);
        for (const { uid } of object.metadata.ownerReferences ?? []) {
          const others = this.#dependents.get(uid);
          if (others === undefined) this.#dependents.set(uid, [node]);
          else others.push(node);
        }
      }
    }
  }

  all(): Iterable<OwnedObject> {
    return this.#objects.values();
  }

  dependentsOf(owner: KubeObject): readonly OwnedObject[] {
    const named = this.#dependents.get(owner.metadata.uid ?? '') ?? [];
    return named.filter(({ object }) => mayOwn(owner, object));
  }

  /** Those that must be gone before the owner goes. */
  blockersOf(owner: KubeObject): readonly OwnedObject[] {
    return this.dependentsOf(owner).filter(({ object }) =>
      (object.metadata.ownerReferences ?? []).some(
        ({ uid, blockOwnerDeletion }) => uid === owner.metadata.uid && blockOwnerDeletion === true,
      ),
    );
  }

  ownersOf(object: KubeObject): Owners {
    const sorted: Record<keyof Owners, OwnerReference[]> = { solid: [], dangling: [], waiting: [] };
    for (const reference of object.metadata.ownerReferences ?? [])
      sorted[this.#stateOf(reference, object)].push(reference);
    return sorted;
  }

  #stateOf({ uid, apiVersion, kind }: OwnerReference, object: KubeObject): keyof Owners {
    const owner = this.#objects.get(uid)?.object;
    if (owner !== undefined && mayOwn(owner, object))
      return isDeletedWith(foregroundFinalizer, owner) ? 'waiting' : 'solid';
    // Of kinds that are not served nobody can say that they are not there.
    const unknown = this.#registry.byKind(apiVersion, kind) === undefined;
    return unknown && !this.#gone.has(uid) ? 'solid' : 'dangling';
  }
}

function mayOwn(owner: KubeObject, object: KubeObject): boolean {
  return namespaceOf(owner) === '' || namespaceOf(owner) === namespaceOf(object);
}
