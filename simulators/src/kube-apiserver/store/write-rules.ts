/** What a write may change: who may touch which part of an object, and under which conditions. */
import { ApiError } from '../api-error.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject, ObjectMeta } from '../kube-object.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';

/** Who writes what: `main` leaves status alone, `status` leaves the rest alone, `everything` is for the simulator's own hands. */
export type WriteScope = 'main' | 'status' | 'everything';

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

const systemFields: ReadonlySet<string> = new Set([
  'namespace',
  'uid',
  'creationTimestamp',
  'resourceVersion',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
] satisfies (keyof ObjectMeta)[]);

export function checkIdentity(definition: ResourceDefinition, current: KubeObject, next: KubeObject): void {
  const name = nameOf(current);
  if (nameOf(next) !== name) {
    throw ApiError.badRequest(
      `the name of the object (${nameOf(next)}) does not match the name on the URL (${name})`,
    );
  }
  if (namespaceOf(next) !== '' && namespaceOf(next) !== namespaceOf(current)) {
    throw ApiError.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  checkPreconditions(definition, current, next.metadata);
}

function checkPreconditions(
  definition: ResourceDefinition,
  current: KubeObject,
  wanted: Preconditions | undefined,
): void {
  const { uid = '', resourceVersion = '' } = wanted ?? {};
  if (uid !== '' && uid !== current.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid ?? ''}`;
    throw ApiError.conflict(definition, nameOf(current), why);
  }
  if (resourceVersion !== '' && resourceVersion !== current.metadata.resourceVersion)
    throw ApiError.conflict(definition, nameOf(current));
}

export function restrict(
  definition: ResourceDefinition,
  current: KubeObject,
  next: KubeObject,
  scope: WriteScope,
): KubeObject {
  if (scope === 'everything' || !definition.hasStatus) return next;
  const status = scope === 'status' ? next['status'] : current['status'];
  const base = scope === 'status' ? { ...current, metadata: next.metadata } : next;
  return { ...base, ...(status === undefined ? {} : { status }) };
}

/** What only the server writes stays as it is, whatever the new object says. */
export function withSystemFields(current: KubeObject, next: KubeObject, specChanged: boolean): ObjectMeta {
  const own = Object.entries(next.metadata).filter(([field]) => !systemFields.has(field));
  const kept = Object.entries(current.metadata).filter(([field]) => systemFields.has(field));
  const { generation } = current.metadata;
  return {
    ...Object.fromEntries([...own, ...kept]),
    ...(generation !== undefined && specChanged ? { generation: generation + 1 } : {}),
  };
}

export function hadFinalizers(object: KubeObject): boolean {
  return (object.metadata.finalizers ?? []).length > 0;
}

export function withoutStatus(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  return { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}
