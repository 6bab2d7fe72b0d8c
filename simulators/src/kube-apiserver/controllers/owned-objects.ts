/** Ownership between objects: which pods belong to a replica set, which replica sets to a deployment. */
import { objectAt } from '../json.ts';
import { labelsOf, nameOf, namespaceOf, withMetaList } from '../kube-object.ts';
import type { KubeObject, OwnerReference } from '../kube-object.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import { labelSelectorOf } from '../selectors/label-selector.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { Collection } from '../store/versioned-store.ts';

export function controllerReference(owner: KubeObject): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: nameOf(owner),
    uid: owner.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

function controllerUid(object: KubeObject): string | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true)?.uid;
}

/** By the uid of the controller. */
export function groupByController(collection: Collection): ReadonlyMap<string, readonly KubeObject[]> {
  const groups = new Map<string, KubeObject[]>();
  for (const object of collection.all()) {
    const uid = controllerUid(object);
    if (uid === undefined) continue;
    const group = groups.get(uid);
    if (group === undefined) groups.set(uid, [object]);
    else group.push(object);
  }
  return groups;
}

/**
 * Gives each owner what its selector picks and nobody controls, and takes from it what it no longer picks
 * (kubernetes/pkg/controller/controller_ref_manager.go).
 */
export function claim(
  objects: ObjectStore,
  owners: readonly KubeObject[],
  definition: ResourceDefinition,
): void {
  const claims = owners
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((owner) => ({ owner, selects: labelSelectorOf(objectAt(owner, 'spec', 'selector')) }));
  const byUid = new Map(claims.map((each) => [each.owner.metadata.uid, each]));
  for (const object of objects.collection(definition).all()) {
    const references = object.metadata.ownerReferences ?? [];
    const present = controllerUid(object);
    const chosen =
      present === undefined
        ? claims.find(
            ({ owner, selects }) =>
              namespaceOf(owner) === namespaceOf(object) &&
              object.metadata.deletionTimestamp === undefined &&
              selects(labelsOf(object)),
          )
        : byUid.get(present);
    if (chosen === undefined) continue;
    const picked = chosen.selects(labelsOf(object));
    if (picked === (present !== undefined)) continue;
    const ownerReferences = picked
      ? [...references, controllerReference(chosen.owner)]
      : references.filter(({ uid }) => uid !== present);
    objects.change(definition, namespaceOf(object), nameOf(object), (current) =>
      withMetaList(current, { ownerReferences }),
    );
  }
}
