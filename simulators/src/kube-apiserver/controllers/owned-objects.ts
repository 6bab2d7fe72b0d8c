/** Ownership between objects: which pods belong to a replica set, which replica sets to a deployment. */
import { nameOf } from '../kube-object.ts';
import type { KubeObject, OwnerReference } from '../kube-object.ts';
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
