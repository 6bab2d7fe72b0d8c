/**
 * What a DELETE makes of an object (k8s.io/apiserver/pkg/registry/generic/registry): the finalizers by which it asks the garbage
 * collector for help, its time of deletion, and the grace that is left to it.
 */
import { ApiError } from '../api-error.ts';
import { timestamp } from '../clock.ts';
import { nameOf, withMeta, withMetaList } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import type { Preconditions } from './write-rules.ts';

/**
 * - `Background`: the object goes at once, its dependents after it
 * - `Foreground`: it stays until those of its dependents are gone that block it
 * - `Orphan`: its dependents stay, and forget that they had it for an owner
 */
export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export const foregroundFinalizer = 'foregroundDeletion';
export const orphanFinalizer = 'orphan';

export interface RemoveOptions {
  /** Negative counts as one second. Kinds that are not gracefully deleted have no use for it. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Default: as the object's finalizers say, else in the background. */
  readonly propagation?: Propagation | undefined;
  readonly preconditions?: Preconditions | undefined;
  readonly dryRun?: boolean;
}

/** Throws Conflict. It names the kind where others name the resource, as the real server does here. */
export function checkDeletePreconditions(
  { group, kind }: ResourceDefinition,
  current: KubeObject,
  { uid, resourceVersion }: Preconditions = {},
): void {
  const { uid: uidNow = '', resourceVersion: versionNow = '' } = current.metadata;
  const conflict = (why: string): ApiError =>
    ApiError.conflict({ group, resource: kind }, nameOf(current), why);
  if (uid !== undefined && uid !== uidNow)
    throw conflict(
      `the UID in the precondition (${uid}) does not match the UID in record (${uidNow}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion !== undefined && resourceVersion !== versionNow)
    throw conflict(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${versionNow}). The object might have been modified`,
    );
}

/** How long the object may take; undefined when it has been given that time, or less, before. */
export function graceSeconds(
  definition: ResourceDefinition,
  current: KubeObject,
  asked: number | undefined,
): number | undefined {
  if (definition.gracePeriodSeconds === undefined) return 0;
  const wanted = asked !== undefined && asked < 0 ? 1 : asked;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = current.metadata;
  if (deletionTimestamp === undefined) return definition.gracePeriodSeconds(current, wanted);
  if (deletionGracePeriodSeconds === 0) return 0;
  return wanted === undefined || wanted >= deletionGracePeriodSeconds ? undefined : wanted;
}

/** The object's own finalizers, and the one that the deletion brings with it. */
export function deletionFinalizers(
  { collected }: ResourceDefinition,
  current: KubeObject,
  propagation: Propagation | undefined,
): readonly string[] {
  const present = current.metadata.finalizers ?? [];
  const own = present.filter((name) => name !== foregroundFinalizer && name !== orphanFinalizer);
  if (!collected) return own;
  switch (propagation) {
    case 'Background':
      return own;
    case 'Foreground':
      return [...own, foregroundFinalizer];
    case 'Orphan':
      return [...own, orphanFinalizer];
    case undefined:
      return present;
  }
}

/** The object as one that is on its way out. */
export function markedForDeletion(
  current: KubeObject,
  finalizers: readonly string[],
  grace: number,
  now: number,
): KubeObject {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, generation = 0 } = current.metadata;
  // The time is that of the end; who gets less grace, gets it from when the deletion began.
  const began =
    deletionTimestamp === undefined ? now : Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return withMeta(withMetaList(current, { finalizers }), {
    ...(deletionTimestamp === undefined && generation > 0 ? { generation: generation + 1 } : {}),
    deletionTimestamp: timestamp(began + grace * 1000),
    deletionGracePeriodSeconds: grace,
  });
}

/** Without one of its finalizers. */
export function withoutFinalizer(object: KubeObject, name: string): KubeObject {
  const finalizers = (object.metadata.finalizers ?? []).filter((present) => present !== name);
  return withMetaList(object, { finalizers });
}

export function isDeletedWith(finalizer: string, { metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(finalizer);
}
