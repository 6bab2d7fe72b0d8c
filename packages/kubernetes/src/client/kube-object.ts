/** What every object of a Kubernetes API has in common, checked where it comes in (k8s.io/apimachinery, meta/v1). */

import { isFields } from './fields.ts';

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

/** The fields that are looked at here; all others are kept as they came. */
export interface ObjectMeta {
  /** Empty for what is never stored, such as a review. */
  readonly name: string;
  /** Undefined for objects of the whole cluster. */
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  /** To be compared and sent back, and not to be read as a number. */
  readonly resourceVersion?: string | undefined;
  readonly generation?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
  /** RFC 3339. */
  readonly creationTimestamp?: string | undefined;
  /** RFC 3339; set as soon as somebody wants it gone. */
  readonly deletionTimestamp?: string | undefined;
  readonly [field: string]: unknown;
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

/** An object on its way to the server, which fills in the rest. */
export interface ObjectManifest {
  readonly metadata?: Partial<ObjectMeta> | undefined;
  readonly [field: string]: unknown;
}

/** Where an object is. */
export interface ObjectName {
  readonly name: string;
  /** Undefined for objects of the whole cluster. */
  readonly namespace?: string | undefined;
}

/** What is not of the shape that it must have; the message names the field and quotes nothing. */
export class ShapeError extends Error {}

/**
 * @param kind what it is when it does not say so itself, as the items of a list do not
 * @throws ShapeError
 */
export function readKubeObject(
  value: unknown,
  kind: { readonly apiVersion: string; readonly kind: string },
): KubeObject {
  if (!isFields(value)) {
    throw new ShapeError('it is not an object');
  }
  return {
    ...value,
    apiVersion: textIn(value, 'apiVersion') ?? kind.apiVersion,
    kind: textIn(value, 'kind') ?? kind.kind,
    metadata: readMeta(value['metadata'] ?? {}),
  };
}

function readMeta(value: unknown): ObjectMeta {
  if (!isFields(value)) {
    throw new ShapeError('its metadata is not an object');
  }
  return {
    ...value,
    name: textIn(value, 'name') ?? '',
    namespace: textIn(value, 'namespace'),
    uid: textIn(value, 'uid'),
    resourceVersion: textIn(value, 'resourceVersion'),
    generation: numberIn(value, 'generation'),
    labels: textsIn(value, 'labels'),
    annotations: textsIn(value, 'annotations'),
    finalizers: listIn(value, 'finalizers')?.map(readFinalizer),
    ownerReferences: listIn(value, 'ownerReferences')?.map(readOwner),
    creationTimestamp: textIn(value, 'creationTimestamp'),
    deletionTimestamp: textIn(value, 'deletionTimestamp'),
  };
}

function readFinalizer(value: unknown): string {
  if (typeof value !== 'string') {
    throw new ShapeError('a finalizer is not text');
  }
  return value;
}

function readOwner(value: unknown): OwnerReference {
  if (!isFields(value)) {
    throw new ShapeError('an owner reference is not an object');
  }
  return {
    apiVersion: textIn(value, 'apiVersion') ?? '',
    kind: textIn(value, 'kind') ?? '',
    name: textIn(value, 'name') ?? '',
    uid: textIn(value, 'uid') ?? '',
    controller: value['controller'] === true ? true : undefined,
    blockOwnerDeletion: value['blockOwnerDeletion'] === true ? true : undefined,
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Go writes a time that is not set as null, so null is absence. */
function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name] ?? undefined;
  if (value !== undefined && typeof value !== 'string') {
    throw new ShapeError(`its ${name} is not text`);
  }
  return value;
}

function numberIn(fields: Fields, name: string): number | undefined {
  const value = fields[name] ?? undefined;
  if (value !== undefined && typeof value !== 'number') {
    throw new ShapeError(`its ${name} is not a number`);
  }
  return value;
}

function listIn(fields: Fields, name: string): readonly unknown[] | undefined {
  const value = fields[name] ?? undefined;
  if (value !== undefined && !Array.isArray(value)) {
    throw new ShapeError(`its ${name} is not a list`);
  }
  return value;
}

/** @throws ShapeError unless it is absent or a map from text to text */
export function textsIn(fields: Fields, name: string): Readonly<Record<string, string>> | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) {
    return undefined;
  }
  if (!isTexts(value)) {
    throw new ShapeError(`its ${name} is not a map from text to text`);
  }
  return value;
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isFields(value) && Object.values(value).every((text) => typeof text === 'string');
}
